"""boto3's sessions and clients; AWS's descriptions of its services are read once for a process."""

import os
from functools import lru_cache
from typing import Any

import boto3.session
import botocore.session
from botocore.config import Config
from botocore.exceptions import BotoCoreError, NoRegionError
from botocore.loaders import Loader, create_loader

from scenemosaic.access import ENVIRONMENT, Access, credentials_of
from scenemosaic.errors import PermanentStoreError


def boto_client(
    service: str,
    named: str,
    config: Config,
    access: Access = ENVIRONMENT,
    *,
    endpoint: str | None = None,
    region: str | None = None,
    session: boto3.session.Session | None = None,
) -> Any:
    """A client for ``named``. What is left out is that of ``access``, or the environment's.

    Raises PermanentStoreError where AWS's settings make none.
    """
    try:
        return (session or boto_session(access)).client(
            service,  # type: ignore[call-overload]  # any of those that are used here
            config=config,
            endpoint_url=endpoint or access.endpoint,
            region_name=region or access.region,
        )
    except NoRegionError:
        reason = "set AWS_DEFAULT_REGION, or of DynamoDB write dynamodb://table?region=…"
    except BotoCoreError as error:
        reason = str(error)
    except ValueError:  # not repeated: it may hold a password
        reason = "an endpoint that is set for it is no URL such as https://host:port"
    raise PermanentStoreError(f"{named}: no client can be made of AWS's settings: {reason}")


def boto_session(access: Access = ENVIRONMENT) -> boto3.session.Session:
    """The credentials block's session, or else a new one of the environment's settings.

    The default one would not be safe in threads. Raises PermanentStoreError where nothing
    resolves the credentials that ``access`` names, or AWS's configuration cannot be used.
    """
    try:
        return credentials_of(access, boto3.session.Session) or _of_the_environment(access.region)
    except BotoCoreError as error:
        raise PermanentStoreError(f"AWS configuration: {error}") from error


def _of_the_environment(region: str | None) -> boto3.session.Session:
    known = botocore.session.get_session()
    loader = _loader(known.get_config_variable("data_path"))
    # A session's own would read a megabyte of JSON again: 50 ms of CPU for each client of S3.
    known.register_component("data_loader", loader)
    made = boto3.session.Session(botocore_session=known, region_name=region)
    # To which each session adds boto3's folder.
    loader.search_paths[:] = dict.fromkeys(loader.search_paths)
    return made


class _Descriptions(Loader):
    """Knows a service by its folder's name: looking into all 400 takes 40 ms of CPU, twice."""

    def list_available_services(self, type_name: str) -> list[str]:
        folders = (path for path in self.search_paths if os.path.isdir(path))
        return sorted({name for folder in folders for name in os.listdir(folder)})


@lru_cache(maxsize=1)
def _loader(data_path: str | None) -> Loader:
    paths = create_loader(data_path).search_paths
    return _Descriptions(paths, include_default_search_paths=False)

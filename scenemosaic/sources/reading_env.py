"""One configuration for reading: what boto3 takes from the environment reaches GDAL too.

Endpoint (also of a profile), TLS, region, profile, temporary credentials (renewed by boto3),
requester pays and anonymous access; what a Scene Store block says of an S3 root goes before
the environment, for sources on S3 too. Directory listings and side files
(``.aux.xml``, ``.ovr``, ``.msk``, world files) are off: a source is one file.
"""

import math
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import Any, Final
from urllib.parse import urlsplit

import boto3
import rasterio
from botocore import UNSIGNED
from botocore.config import Config
from botocore.exceptions import BotoCoreError
from rasterio.session import AWSSession, DummySession

from scenemosaic.access import ENVIRONMENT, Access
from scenemosaic.errors import InputError, PermanentStoreError, TransientStoreError
from scenemosaic.places import StorePlace
from scenemosaic.sources.locations import is_s3, vsi_path
from scenemosaic.waiting.boto_deadlines import timed_client
from scenemosaic.waiting.boto_sessions import boto_session
from scenemosaic.waiting.deadlines import Deadlines, deadlines_from

CONNECT_TIMEOUT_S: Final = 10
READ_TIMEOUT_S: Final = 60
_AWS_HOST: Final = re.compile(r"(.*\.)?(amazonaws\.com(\.[a-z]+)?|api\.aws)")
_BASE: Final[Mapping[str, str]] = {
    "GDAL_DISABLE_READDIR_ON_OPEN": "EMPTY_DIR",
    "GDAL_PAM_ENABLED": "NO",
    "GDAL_ERROR_ON_LIBJPEG_WARNING": "TRUE",
    "GDAL_HTTP_MAX_RETRY": "3",
    "GDAL_HTTP_RETRY_DELAY": "1",
}


_by: ContextVar[Access] = ContextVar("scenemosaic_reading_by", default=ENVIRONMENT)


@contextmanager
def reading_as(store: StorePlace) -> Iterator[None]:
    """In this thread, sources on S3 are reached as an S3 root is; else as the environment says."""
    token = _by.set(store.access if store.root.startswith("s3://") else ENVIRONMENT)
    try:
        yield
    finally:
        _by.reset(token)


@contextmanager
def reading(location: str) -> Iterator[None]:
    """A GDAL environment of this thread in which ``location`` can be opened and read."""
    access_mark(location)  # credentials are renewed here, where a fault of it has its name
    with rasterio.Env(session=_gdal_session(location), **gdal_options(location)):
        yield


def access_mark(location: str) -> object:
    """Another value where credentials are others: what is open keeps those it was opened with.

    Renews temporary ones that are about to expire. Raises TransientStoreError where that fails.
    """
    if not is_s3(location) or unsigned():
        return None
    try:
        known = _boto_session(os.getpid(), _by.get()).get_credentials()
        frozen = None if known is None else known.get_frozen_credentials()
    except BotoCoreError as error:
        raise TransientStoreError(f"{location}: its AWS credentials: {error}") from None
    return None if frozen is None else hash((frozen.access_key, frozen.token))


def gdal_options(location: str) -> dict[str, str]:
    """GDAL's settings for a location, credentials left out."""
    waits = read_deadlines()
    options = dict(_BASE)
    options["GDAL_HTTP_CONNECTTIMEOUT"] = f"{waits.connect_s:g}"
    # GDAL asks again after a time-out, but not after silence: a hung server is left at once.
    options["GDAL_HTTP_LOW_SPEED_TIME"] = f"{math.ceil(waits.silence_s)}"
    options["GDAL_HTTP_LOW_SPEED_LIMIT"] = "1"
    options["GDAL_HTTP_TIMEOUT"] = f"{max(waits.call_s, math.ceil(waits.silence_s) + 1):g}"
    if location.startswith(("s3://", "http")):
        # Neither an old 404 nor an old body is served to a dataset opened later.
        options["CPL_VSIL_CURL_NON_CACHED"] = vsi_path(location)
    if is_s3(location):
        options |= _endpoint_options(s3_endpoint()) or _endpoint_options(_profile_endpoint())
    authority = os.environ.get("AWS_CA_BUNDLE" if is_s3(location) else "SSL_CERT_FILE")
    if authority:  # the first is the name that newer GDALs know
        options["GDAL_CURL_CA_BUNDLE"] = options["CURL_CA_BUNDLE"] = authority
    return options


def read_deadlines() -> Deadlines:
    """How long one request to a source may take, and one wait for it.

    No longer than ``SCENEMOSAIC_CALL_DEADLINE_S``, where that is set.
    """
    return deadlines_from(os.environ, Deadlines(CONNECT_TIMEOUT_S, READ_TIMEOUT_S))


def s3_endpoint() -> str | None:
    """The S3 endpoint that is set, as boto3 looks it up."""
    known = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    return _by.get().endpoint or known


def _profile_endpoint() -> str | None:
    """The endpoint that boto3 takes from its files, where it is none of AWS's own."""
    url = str(s3_client().meta.endpoint_url)
    return None if _AWS_HOST.fullmatch(urlsplit(url).hostname or "") else url


def _endpoint_options(url: str | None) -> dict[str, str]:
    if url is None:
        return {}
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise InputError(
            f"the S3 endpoint must be http(s)://host, not {parts.scheme}://{parts.hostname}"
        )
    return {
        "AWS_S3_ENDPOINT": parts.netloc + parts.path.rstrip("/"),
        "AWS_HTTPS": "YES" if parts.scheme == "https" else "NO",
        "AWS_VIRTUAL_HOSTING": "FALSE",
    }


def requester_pays() -> bool:
    said = os.environ.get("AWS_REQUEST_PAYER", "").lower() == "requester"
    return said or _by.get().requester_pays


def unsigned() -> bool:
    return os.environ.get("AWS_NO_SIGN_REQUEST", "").upper() in ("YES", "TRUE", "1")


def s3_client() -> Any:
    """This process's boto3 client for reading sources; safe for many threads."""
    return _client(os.getpid(), s3_endpoint(), unsigned(), _by.get(), read_deadlines())


@lru_cache(maxsize=4)
def _client(
    pid: int, endpoint: str | None, anonymous: bool, access: Access, waits: Deadlines
) -> Any:
    config = Config(
        connect_timeout=waits.connect_s,
        read_timeout=waits.silence_s,
        retries={"mode": "standard", "total_max_attempts": 4},
        s3={"addressing_style": "path"} if endpoint else None,
        signature_version=UNSIGNED if anonymous else None,
    )
    client = _boto_session(pid, access).client("s3", config=config, endpoint_url=endpoint)
    return timed_client(client)


@lru_cache(maxsize=4)
def _boto_session(pid: int, access: Access) -> boto3.Session:
    try:
        return boto_session(access)
    except BotoCoreError as error:
        raise PermanentStoreError(f"AWS configuration: {error}") from error


def _gdal_session(location: str) -> Any:
    # The dummy keeps rasterio from reading AWS credentials for local files.
    if not is_s3(location):
        return DummySession()
    return AWSSession(
        session=_boto_session(os.getpid(), _by.get()),
        aws_unsigned=unsigned(),
        requester_pays=requester_pays(),
    )

"""One configuration for reading: what boto3 takes from the environment reaches GDAL too.

Endpoint (also of a profile), TLS, region, profile, temporary credentials (renewed by boto3),
requester pays and anonymous access; what a Scene Store block says of an S3 root goes before
the environment, for sources on S3 too. Directory listings and side files
(``.aux.xml``, ``.ovr``, ``.msk``, world files) are off: a source is one file.
"""

import math
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final
from urllib.parse import urlsplit

import rasterio
from rasterio.session import AWSSession, DummySession

from scenemosaic.errors import InputError
from scenemosaic.sources.locations import is_s3, vsi_path
from scenemosaic.sources.reading_settings import (
    read_deadlines,
    requester_pays,
    s3_endpoint,
    unsigned,
)

_BASE: Final[Mapping[str, str]] = {
    "GDAL_DISABLE_READDIR_ON_OPEN": "EMPTY_DIR",
    "GDAL_PAM_ENABLED": "NO",
    "GDAL_ERROR_ON_LIBJPEG_WARNING": "TRUE",
    "GDAL_HTTP_MAX_RETRY": "3",
    "GDAL_HTTP_RETRY_DELAY": "1",
}


@contextmanager
def reading(location: str) -> Iterator[None]:
    """A GDAL environment of this thread in which ``location`` can be opened and read.

    Raises what :func:`gdal_options` and :func:`access_mark` raise, before anything is read.
    """
    access_mark(location)  # credentials are renewed here, where a fault of it has its name
    with rasterio.Env(session=_gdal_session(location), **gdal_options(location)):
        yield


def access_mark(location: str) -> object:
    """Another value where credentials are others: what is open keeps those it was opened with.

    Renews temporary ones that are about to expire. Raises TransientStoreError where that fails,
    PermanentStoreError where AWS's configuration names none that can be used.
    """
    if not is_s3(location) or unsigned():
        return None
    from scenemosaic.sources.s3_reading import credentials_mark

    return credentials_mark(location)


def gdal_options(location: str) -> dict[str, str]:
    """GDAL's settings for a location, credentials left out.

    Of one on S3, raises InputError where the endpoint that is set is no http(s) URL, and
    PermanentStoreError where AWS's configuration cannot be used.
    """
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


def _profile_endpoint() -> str | None:
    from scenemosaic.sources.s3_reading import profile_endpoint

    return profile_endpoint()


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


def _gdal_session(location: str) -> Any:
    # The dummy keeps rasterio from reading AWS credentials for local files.
    if not is_s3(location):
        return DummySession()
    from scenemosaic.sources.s3_reading import aws_session

    return AWSSession(
        session=aws_session(), aws_unsigned=unsigned(), requester_pays=requester_pays()
    )

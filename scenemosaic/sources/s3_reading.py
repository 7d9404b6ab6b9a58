"""Sources on S3 by boto3: its client and its credentials, once for a process.

Imported where a source lies on S3: boto3 takes longer to import than GDAL.
"""

import os
import re
from functools import lru_cache
from typing import Any, Final
from urllib.parse import urlsplit

from boto3.session import Session
from botocore import UNSIGNED
from botocore.config import Config

from scenemosaic.access import Access
from scenemosaic.sources.reading_settings import read_deadlines, reading_by, s3_endpoint, unsigned
from scenemosaic.sources.s3_errors import S3_ERRORS, s3_error
from scenemosaic.waiting.boto_deadlines import timed_client
from scenemosaic.waiting.boto_sessions import boto_client, boto_session
from scenemosaic.waiting.deadlines import Deadlines

_AWS_HOST: Final = re.compile(r"(.*\.)?(amazonaws\.com(\.[a-z]+)?|api\.aws)")


def s3_client() -> Any:
    """This process's boto3 client for reading sources; safe for many threads.

    Raises PermanentStoreError as :func:`aws_session` does, and for an endpoint that is no URL.
    """
    return _client(os.getpid(), s3_endpoint(), unsigned(), reading_by(), read_deadlines())


def aws_session() -> Session:
    """This process's session for reading sources.

    Raises PermanentStoreError where AWS's configuration (a profile, say) cannot be used, or
    nothing resolves the credentials that a block names.
    """
    return _boto_session(os.getpid(), reading_by())


def credentials_mark(location: str) -> object:
    """Another value where credentials are others; None without any.

    Renews temporary ones that are about to expire. Raises TransientStoreError where that fails,
    PermanentStoreError where it was refused, they are not whole, or there is no session.
    """
    try:
        known = aws_session().get_credentials()
        frozen = None if known is None else known.get_frozen_credentials()
    except S3_ERRORS as error:
        raise s3_error(f"{location}: its AWS credentials", error) from None
    return None if frozen is None else hash((frozen.access_key, frozen.token))


def profile_endpoint() -> str | None:
    """The endpoint that boto3 takes from its files; None where it is AWS's own.

    Raises as :func:`s3_client` does.
    """
    url = str(s3_client().meta.endpoint_url)
    return None if _AWS_HOST.fullmatch(urlsplit(url).hostname or "") else url


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
    session = _boto_session(pid, access)
    return timed_client(
        boto_client("s3", "sources on S3", config, access, endpoint=endpoint, session=session)
    )


@lru_cache(maxsize=4)
def _boto_session(pid: int, access: Access) -> Session:
    return boto_session(access)

"""How sources are reached: as the environment says, or a Scene Store block of an S3 root."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from scenemosaic.access import ENVIRONMENT, Access
from scenemosaic.places import StorePlace
from scenemosaic.waiting.deadlines import Deadlines, deadlines_from

CONNECT_TIMEOUT_S: Final = 10
READ_TIMEOUT_S: Final = 60

_by: ContextVar[Access] = ContextVar("scenemosaic_reading_by", default=ENVIRONMENT)


@contextmanager
def reading_as(store: StorePlace) -> Iterator[None]:
    """In this thread, sources on S3 are reached as an S3 root is; else as the environment says."""
    token = _by.set(store.access if store.root.startswith("s3://") else ENVIRONMENT)
    try:
        yield
    finally:
        _by.reset(token)


def reading_by() -> Access:
    """By what this thread reaches sources on S3."""
    return _by.get()


def read_deadlines() -> Deadlines:
    """How long one request to a source may take, and one wait for it.

    No longer than ``SCENEMOSAIC_CALL_DEADLINE_S``, where that is set.
    """
    return deadlines_from(os.environ, Deadlines(CONNECT_TIMEOUT_S, READ_TIMEOUT_S))


def s3_endpoint() -> str | None:
    """The S3 endpoint that is set, as boto3 looks it up."""
    known = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    return _by.get().endpoint or known


def requester_pays() -> bool:
    """Whether whoever reads pays for it."""
    said = os.environ.get("AWS_REQUEST_PAYER", "").lower() == "requester"
    return said or _by.get().requester_pays


def unsigned() -> bool:
    """Whether sources on S3 are asked for without credentials."""
    return os.environ.get("AWS_NO_SIGN_REQUEST", "").upper() in ("YES", "TRUE", "1")

"""What is shown in Prefect, and is not worth a run: where its API fails, the run goes on."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import httpx
from prefect.exceptions import PrefectException

from flows.server.patience import await_server

TABLE_ROWS: Final = 1000

_log = logging.getLogger(__name__)


@contextmanager
def optional(what: str, *, is_last: bool = True) -> Iterator[None]:
    """Let a fault of Prefect's API end the block, and no more than that.

    What a deployment's run shows last waits for a server that is away.
    """
    try:
        if is_last:
            await_server()
        yield
    except (httpx.HTTPError, PrefectException) as error:
        _log.warning("%s: not shown, since Prefect's API did not take it (%s)", what, error)

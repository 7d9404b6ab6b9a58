"""Prefect's server away: how long a run waits for it, so that what it came to is not lost."""

import logging
import threading
import time
from collections.abc import Callable
from typing import Final, TypeVar

import httpx
from prefect.client.orchestration import get_client
from prefect.context import FlowRunContext

# A server may be away for this long, and the runs that it knows of go on.
PATIENCE_S: Final = 900.0
PAUSE_S: Final = 10.0

_log = logging.getLogger(__name__)
T = TypeVar("T")


def patiently(
    ask: Callable[[], T],
    patience_s: float = PATIENCE_S,
    clock: Callable[[], float] = time.monotonic,
    stopped: Callable[[float], bool] = lambda pause_s: threading.Event().wait(pause_s),
) -> T:
    """The answer, asked for again where the server is away: for questions that may be repeated.

    ``stopped`` waits for some seconds, and says whether to give up. Raises what the server
    refuses it with at once, and httpx's error where it stays away.
    """
    give_up = clock() + patience_s
    while True:
        try:
            return ask()
        except httpx.HTTPError as error:
            if is_refusal(error) or clock() >= give_up:
                raise
            _log.warning("Prefect's API does not answer (%s): asking again", error)
            if stopped(PAUSE_S):
                raise


def await_server() -> None:
    """Return once Prefect's API answers a deployment's run, or raise httpx's error.

    Others do not wait: a command has somebody who waits for it.
    """
    context = FlowRunContext.get()
    run = None if context is None else context.flow_run
    if run is not None and run.deployment_id is not None:
        patiently(_ask)


def _ask() -> None:
    with get_client(sync_client=True) as client:
        client.hello()


def is_refusal(error: httpx.HTTPError) -> bool:
    """Whether the server is there, and said no."""
    if not isinstance(error, httpx.HTTPStatusError):
        return False
    return error.response.status_code < 500 and error.response.status_code != 429

"""A run outlives whoever reads what it logs: its worker, its runner, a pipe."""

import logging
from collections.abc import Iterator
from functools import partial
from typing import Any

from prefect.logging.handlers import PrefectConsoleHandler

from flows.streams import drop


def outlive_readers() -> None:
    """Let this process's lines go nowhere once nobody reads them.

    Prefect's console would end the process instead, wherever it is: perhaps with its final
    state unreported.
    """
    for console in _consoles():
        console.on_broken_pipe = partial(drop, console.file)


def _consoles() -> Iterator[Any]:
    known = (logging.root, *logging.root.manager.loggerDict.values())
    for logger in known:
        if isinstance(logger, logging.Logger):
            for handler in logger.handlers:
                if isinstance(handler, PrefectConsoleHandler):
                    yield handler.console

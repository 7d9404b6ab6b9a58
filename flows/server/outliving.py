"""A run outlives whoever reads what it logs: its worker, its runner, a pipe."""

import atexit
import logging
import os
from collections.abc import Iterator
from functools import partial
from typing import Any, Final

from prefect.logging.handlers import PrefectConsoleHandler

from flows.terminal.streams import drop
from scenemosaic.machine import collector

# Only the process that carries out a deployment's run has it.
_RUN_ID: Final = "PREFECT__FLOW_RUN_ID"


def outlive_readers() -> None:
    """Let this process's lines go nowhere once nobody reads them.

    Prefect's console would end the process instead, wherever it is: perhaps with its final
    state unreported.
    """
    for console in _consoles():
        console.on_broken_pipe = partial(drop, console.file)


def prepare_own_process() -> None:
    """In a run's own process, as it loads its flow: Prefect logs before it calls it.

    Its end is prepared, too (:func:`scenemosaic.machine.collector.leave`).
    """
    if _RUN_ID in os.environ:
        outlive_readers()
        atexit.register(collector.leave)


def _consoles() -> Iterator[Any]:
    known = (logging.root, *logging.root.manager.loggerDict.values())
    for logger in known:
        if isinstance(logger, logging.Logger):
            for handler in logger.handlers:
                if isinstance(handler, PrefectConsoleHandler):
                    yield handler.console

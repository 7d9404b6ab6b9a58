"""The final state of a ``process-scene`` run, named by what happened."""

import logging
from typing import Any

from prefect.client.schemas.objects import State
from prefect.states import Completed, Failed

from flows.reports.form_words import in_form_words
from flows.reports.scene import ProcessReport
from scenemosaic.errors import ConflictError, IncompleteError, InputError, SceneMosaicError

_FAILED: tuple[tuple[type[SceneMosaicError], str], ...] = (
    (IncompleteError, "Incomplete"),
    (InputError, "BadInput"),
)


def final_state(report: ProcessReport) -> State[ProcessReport]:
    """Completed where a person has nothing to repeat (all done, or a conflict), else Failed."""
    if report.error is not None:
        return error_state(report.error, report)
    return Completed(name=_completed_name(report), message=report.summary, data=report)


def error_state(error: SceneMosaicError, data: object) -> State[Any]:
    """The state of a run that ended in ``error``: a conflict is Completed, a fault is Failed."""
    state = Completed if isinstance(error, ConflictError) else Failed
    return state(name=state_name(error), message=in_form_words(str(error)), data=data)


def state_name(error: SceneMosaicError) -> str:
    """What the final state is called: a conflict by its kind, anything else by its group."""
    if isinstance(error, ConflictError):
        return _camel(error.kind)
    return next((name for kind, name in _FAILED if isinstance(error, kind)), "StoreFault")


def _completed_name(report: ProcessReport) -> str:
    if report.superseded:
        return "Superseded"
    return "AlreadyMosaicked" if report.all_was_there else "Mosaicked"


def _camel(kind: str) -> str:
    return "".join(word.capitalize() for word in kind.split("-"))


class _NoTracebackOfNamedStates(logging.Filter):
    """Drops what Prefect says of a run in a Failed state of ours: that state has said it all."""

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        named = isinstance(error, SceneMosaicError) or "result for failed state" in str(error)
        return not (named and str(record.msg).startswith("Engine execution exited"))


logging.getLogger("prefect.flow_runs").addFilter(_NoTracebackOfNamedStates())

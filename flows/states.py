"""The final state of a ``process-scene`` run, named by what happened."""

from prefect.client.schemas.objects import State
from prefect.states import Completed, Failed

from flows.report import ProcessReport
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


def error_state(
    error: SceneMosaicError, data: ProcessReport | SceneMosaicError
) -> State[ProcessReport]:
    """The state of a run that ended in ``error``: a conflict is Completed, a fault is Failed."""
    if isinstance(error, ConflictError):
        return Completed(name=_camel(error.kind), message=str(error), data=data)
    name = next((name for kind, name in _FAILED if isinstance(error, kind)), "StoreFault")
    return Failed(name=name, message=str(error), data=data)


def _completed_name(report: ProcessReport) -> str:
    if report.superseded:
        return "Superseded"
    return "AlreadyMosaicked" if report.all_was_there else "Mosaicked"


def _camel(kind: str) -> str:
    return "".join(word.capitalize() for word in kind.split("-"))

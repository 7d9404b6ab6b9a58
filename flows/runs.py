"""A run by its ID, and the operator whom the audit log names."""

import uuid

from flows.who import operator
from scenemosaic.job import Run


def command_run(*, strict_history: bool = False) -> Run:
    """A run of the command line, with an ID of its own."""
    return _run(f"cli-{uuid.uuid4()}", operator(), strict_history)


def flow_run(*, strict_history: bool = False) -> Run:
    """The Prefect run that this is called in; one of its own outside of any."""
    from prefect.context import FlowRunContext

    context = FlowRunContext.get()
    if context is None or context.flow_run is None:
        return _run(str(uuid.uuid4()), operator(), strict_history)
    creator = context.flow_run.created_by
    known = creator.display_value if creator is not None else None
    return _run(str(context.flow_run.id), operator(known or ""), strict_history)


def _run(name: str, by: str, strict_history: bool) -> Run:
    return Run(run_id=name, written_by=name, operator=by, strict_history=strict_history)

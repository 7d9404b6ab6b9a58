"""A person's word before a job is published: the run waits for it, and keeps who gave it."""

import logging

from prefect.context import FlowRunContext
from prefect.exceptions import FlowPauseTimeout
from prefect.flow_runs import pause_flow_run, suspend_flow_run
from prefect.input import RunInput
from pydantic import Field

from flows.server import lost
from flows.server.api import PrefectUnavailable
from scenemosaic.errors import NotApproved
from scenemosaic.publishing.latest import Target

POLL_S = 2
_log = logging.getLogger(__name__)


class Approval(RunInput):
    """What a person answers before a job is published."""

    approved_by: str = Field(min_length=1, max_length=200, description="Your name: it is kept.")
    approve: bool = Field(default=True, description="Off refuses the publication.")
    comment: str = Field(default="", max_length=500, description="Why, if there is more to say.")


def ask(target: Target, root: str, within_s: int) -> str:
    """Wait until a person resumes the run; who approved it. Raises NotApproved.

    A deployment's run is suspended: its process ends, and another begins the flow again
    once it is resumed. Any other run is paused, and its process waits. The question is
    keyed by what was inspected, so a mosaic that changed meanwhile is asked for again.
    PrefectUnavailable where the server of a run that waits goes away.
    """
    pinned = target.pinned
    question = Approval.with_initial_data(
        description=(
            f"Publish job `{target.job_id}`, revision {pinned.revision}, of {root}?\n\n"
            f"Digest `{pinned.digest}`, ETag `{pinned.etag}`, {target.size_bytes} bytes."
        )
    )
    key = f"publish-{target.job_id}-r{pinned.revision}-{pinned.digest[:16]}"
    _log.warning("waiting until a person resumes the flow run")
    answer = _wait(question, within_s, key)
    if not answer.approve:
        comment = f": {answer.comment}" if answer.comment else ""
        raise NotApproved(f"{answer.approved_by} refused to publish {target.job_id}{comment}")
    return " ".join(answer.approved_by.split())


def _wait(question: type[Approval], within_s: int, key: str) -> Approval:
    context = FlowRunContext.get()
    run = None if context is None else context.flow_run
    if run is not None and run.deployment_id is not None:
        return suspend_flow_run(wait_for_input=question, timeout=within_s, key=key)
    try:
        return pause_flow_run(
            wait_for_input=question, timeout=within_s, poll_interval=POLL_S, key=key
        )
    except FlowPauseTimeout as error:
        raise NotApproved(f"nobody answered within {within_s} s: {error}") from error
    except lost.LOST as error:
        raise PrefectUnavailable(
            f"{lost.said(error)}, so that nobody can approve, and nothing was published: "
            "start it (prefect server start), and publish again"
        ) from error

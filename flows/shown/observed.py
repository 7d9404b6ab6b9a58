"""What a run came to, for those who watch Prefect: artifacts and events at its end."""

import logging
from typing import Final

from prefect.artifacts import create_table_artifact
from prefect.events import emit_event

from flows.reports.scene import ProcessReport
from flows.server.api import is_temporary
from flows.shown.gap_artifact import show_gap_map
from flows.shown.preview_artifact import show_preview
from flows.shown.showing import optional
from scenemosaic.errors import IncompleteError, SceneMosaicError, StoreError
from scenemosaic.job import JobSpec
from scenemosaic.verification.report import MISSING

OUTCOME_EVENT: Final = "scenemosaic.job.outcomes"
PRESENT_EVENT: Final = "scenemosaic.tile.already-present"
WRITTEN_EVENT: Final = "scenemosaic.mosaic.written"
INCOMPLETE_EVENT: Final = "scenemosaic.job.incomplete"
WRITTEN, PRESENT = "written", "already there"
# A map of more windows takes seconds to make, and nobody finds one in it.
MOST_MAPPED: Final = 250_000

_log = logging.getLogger(__name__)


def show(spec: JobSpec, report: ProcessReport) -> None:
    """Keep the outcomes, the gap map and the preview as artifacts, and say what happened."""
    if is_temporary():
        return  # Nobody will ever look at that server.
    with optional(f"job {report.job_id}"):
        show_outcomes(report)
        if report.windows <= MOST_MAPPED:
            show_gap_map(report.job_id, window_states(spec, report))
        if report.mosaic is not None:
            _show_preview(spec, report.mosaic.revision)
    emit(spec, report)


def outcome_table(report: ProcessReport) -> list[dict[str, object]]:
    """A row for each outcome that occurred: the windows' first, then how commits went."""
    return [{"outcome": name, "count": count} for name, count in report.totals.items() if count]


def show_outcomes(report: ProcessReport) -> None:
    """Keep the table as an artifact of the flow run."""
    create_table_artifact(
        table=outcome_table(report),
        key=f"outcomes-{report.job_id}",
        description=f"Job {report.job_id}: {report.summary}. A refusal is the mechanism at work.",
    )


def window_states(spec: JobSpec, report: ProcessReport) -> dict[str, str]:
    """Every window's name with what this run found or made of it."""
    states = {window.name: PRESENT for window in spec.plan.recipe.tiling().windows()}
    states |= dict.fromkeys(report.wrote, WRITTEN)
    return states | dict.fromkeys(report.missing, MISSING)


def emit(spec: JobSpec, report: ProcessReport) -> None:
    """Events of the job: at most one of each kind a run, so that they never become a flood."""
    table = outcome_table(report)
    _emit(spec, OUTCOME_EVENT, {str(row["outcome"]): row["count"] for row in table})
    if report.already_present:
        _emit(spec, PRESENT_EVENT, {"count": report.already_present, "windows": report.windows})
    if report.mosaic is not None and report.mosaic.outcome == "written":
        mosaic = report.mosaic
        said = {"uri": mosaic.uri, "bytes": mosaic.bytes, "digest": mosaic.digest}
        _emit(spec, WRITTEN_EVENT, said | {"revision": mosaic.revision})
    if isinstance(report.error, IncompleteError | StoreError):
        missing = {"missing": len(report.missing), "windows": report.windows}
        _emit(spec, INCOMPLETE_EVENT, missing | {"kind": report.error.kind})


def _emit(spec: JobSpec, event: str, payload: dict[str, object]) -> None:
    emit_event(
        event,
        resource={
            "prefect.resource.id": f"scenemosaic.job.{spec.plan.job_id}",
            "prefect.resource.name": f"job {spec.plan.job_id[:8]}",
            "scenemosaic.root": spec.root,
        },
        payload={"job_id": spec.plan.job_id, **payload},
    )


def _show_preview(spec: JobSpec, revision: int) -> None:
    try:
        show_preview(spec, revision)
    except SceneMosaicError as error:
        _log.warning("job %s: its preview is not shown: %s", spec.plan.job_id, error)

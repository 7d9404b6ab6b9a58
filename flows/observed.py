"""What a run came to, for those who watch Prefect: one artifact and one event at its end."""

from prefect.artifacts import create_table_artifact
from prefect.events import emit_event

from flows.report import ProcessReport
from scenemosaic.metrics import REFUSALS

OUTCOME_EVENT = "scenemosaic.job.outcomes"
_NAMES = {"refused": REFUSALS}


def outcome_table(report: ProcessReport) -> list[dict[str, object]]:
    """A row for each outcome that occurred: the windows' first, then how commits went."""
    windows = {
        "written": report.written,
        "already_present": report.already_present,
        "missing": len(report.missing),
    }
    commits = {name: count for name, count in report.counters.items() if name not in windows}
    named = {_NAMES.get(name, name): count for name, count in (windows | commits).items()}
    return [{"outcome": name, "count": count} for name, count in named.items() if count]


def show_outcomes(report: ProcessReport) -> None:
    """Keep the table as an artifact of the flow run, and emit it as an event of the job."""
    table = outcome_table(report)
    create_table_artifact(
        table=table,
        key=f"outcomes-{report.job_id}",
        description=f"Job {report.job_id}: {report.summary}. A refusal is the mechanism at work.",
    )
    emit_event(
        OUTCOME_EVENT,
        resource={"prefect.resource.id": f"scenemosaic.job.{report.job_id}"},
        payload={str(row["outcome"]): row["count"] for row in table},
    )

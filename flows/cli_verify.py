"""``scenemosaic verify``: the engine alone, without Prefect."""

from collections.abc import Sequence
from dataclasses import dataclass

from flows.console import Console
from flows.progress import in_bytes, in_seconds
from scenemosaic.next_step import command
from scenemosaic.places import Place
from scenemosaic.verification.findings import Finding, Kind
from scenemosaic.verification.report import VerifyReport
from scenemosaic.verification.verify import verify_job
from scenemosaic.words import counted, some

_SHOWN = 50


@dataclass(frozen=True, slots=True)
class Request:
    """What was asked for."""

    job_id: str
    place: Place
    names: Sequence[str]
    deep: bool
    workers: int


def verify(request: Request, console: Console) -> int:
    """Verify a job and say what is off; the exit code."""
    progress = console.progress()
    try:
        report = verify_job(
            request.job_id,
            request.place,
            names=request.names,
            deep=request.deep,
            workers=request.workers,
            progress=progress.verified,
        )
    finally:
        progress.close()
    console.answer(report.to_json(), as_text(report, request.place))
    return report.exit_code


def as_text(report: VerifyReport, place: Place) -> str:
    """The report for people: what is damaged and what to do, then a table of findings."""
    lines = [*_advice(report, place), *_table(report.findings[:_SHOWN])]
    if (more := len(report.findings) - _SHOWN) > 0:
        lines.append(f"… and {more} more; --json names them all")
    if report.waived:
        lines.append(f"waived   {' '.join(report.waived)}")
    read = f"{in_bytes(report.bytes)} in {in_seconds(report.seconds)}"
    return "\n".join([*lines, f"job      {report.job_id}", f"result   {report.summary} ({read})"])


def _advice(report: VerifyReport, place: Place) -> list[str]:
    """One sentence: the damaged things, and the command that mends them."""
    off = dict.fromkeys(one.subject for one in report.findings if one.kind is not Kind.STRAY)
    if report.is_sound:
        return []
    if not off:
        return ["Nothing is damaged, and what is stray no repair touches: find out whose it is."]
    windows = [name for name in off if name in report.states()]
    parts = [f"{counted(len(windows), 'window')} ({some(windows)})"] if windows else []
    parts += [f"the {name}" for name in off if name not in windows]
    repair = command("repair", report.job_id, place)
    return [f"Damaged: {', '.join(parts)}. Next: {repair} [--source PATH]"]


def _table(findings: Sequence[Finding]) -> list[str]:
    rows = [(one.subject, one.kind.value, one.detail) for one in findings]
    widths = [max((len(row[column]) for row in rows), default=0) for column in (0, 1)]
    return [f"{row[0]:{widths[0]}}  {row[1]:{widths[1]}}  {row[2]}" for row in rows]

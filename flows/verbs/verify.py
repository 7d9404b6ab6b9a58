"""``scenemosaic verify``: the engine alone, without Prefect."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Final

from flows.terminal.console import Console
from flows.terminal.progress import in_bytes, in_seconds
from scenemosaic import keys
from scenemosaic.next_step import command
from scenemosaic.places import Place
from scenemosaic.verification.findings import Finding, Kind
from scenemosaic.verification.report import VerifyReport
from scenemosaic.verification.verify import verify_job
from scenemosaic.words import counted, some

_SHOWN = 50
_OTHER_BYTES: Final = (Kind.CHECKSUM, Kind.SIZE)
_FOLLOWS: Final = (Kind.ETAG, Kind.VERSION, Kind.BLOCKS, Kind.FOREIGN, Kind.METADATA)


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
    shown = [one for one in report.findings if not _is_of_other_root(one, report)]
    lines = [*_advice(report, shown, place), *_table(_folded(shown[:_SHOWN]))]
    if (more := len(report.findings) - len(shown[:_SHOWN])) > 0:
        lines.append(f"… and {more} more; --json names them all")
    if report.waived:
        lines.append(f"waived   {' '.join(report.waived)}")
    lines.append(f"job      {report.job_id}")
    if report.revision:
        path = keys.revision_path(report.revision, "mosaic.tif")
        lines.append(f"mosaic   {path} is the newest; earlier ones are not looked at")
    read = f"{in_bytes(report.bytes)} in {in_seconds(report.seconds)}"
    return "\n".join([*lines, f"result   {report.summary} ({read})"])


def _is_of_other_root(one: Finding, report: VerifyReport) -> bool:
    """Whether it is one of the rows that this root has not, and another one has."""
    return report.other_root is not None and one.kind is Kind.MISSING_ROW


def _advice(report: VerifyReport, shown: Sequence[Finding], place: Place) -> list[str]:
    """The damaged things, and the command that mends them."""
    repair, lines = command("repair", report.job_id, place), list[str]()
    if report.other_root is not None:
        lines += [
            f"The manifest's rows are of another root, {report.other_root}: this one was copied "
            f"or moved, and has none. Next: {repair}, which writes them for the tiles that are "
            "sound, or scenemosaic process SOURCE again"
        ]
    if not shown:
        return lines
    off = dict.fromkeys(one.subject for one in shown if one.kind is not Kind.STRAY)
    if not off:
        nothing = "Nothing is damaged, and what is stray no repair touches: find out whose it is."
        return [*lines, nothing]
    windows = [name for name in off if name in report.states()]
    parts = [f"{counted(len(windows), 'window')} ({some(windows)})"] if windows else []
    parts += [f"the {name}" for name in off if name not in windows]
    damaged, then = f"Damaged: {', '.join(parts)}.", f"{repair} [--source PATH]"
    first = [
        f"First {act}: {some(list(dict.fromkeys(subjects)))}."
        for act, subjects in _first(shown).items()
        if subjects
    ]
    return [*lines, " ".join([damaged, *first, f"{'Then' if first else 'Next'}: {then}"])]


def _first(shown: Sequence[Finding]) -> dict[str, list[str]]:
    """What a person has to do before a repair, and of what."""
    blocking = [one for one in shown if one.blocks_repair]
    closed = [one.subject for one in blocking if one.kind is Kind.UNREADABLE]
    others = [one.subject for one in blocking if one.kind is not Kind.UNREADABLE]
    return {"move away what is not ours (a row: delete it)": others, "make readable": closed}


def _folded(findings: Sequence[Finding]) -> list[Finding]:
    """Where a thing's bytes are others, what follows from that stands in the same line."""
    lines = list[Finding]()
    for _, group in groupby(findings, lambda one: one.subject):
        found = list(group)
        first = next((one for one in found if one.kind in _OTHER_BYTES), None)
        follows = [one for one in found if first is not None and one.kind in _FOLLOWS]
        lines += [
            _with(one, follows) if one is first else one for one in found if one not in follows
        ]
    return lines


def _with(one: Finding, follows: Sequence[Finding]) -> Finding:
    kinds = ", ".join(dict.fromkeys(other.kind.value for other in follows))
    return replace(one, detail=f"{one.detail}; also: {kinds}") if follows else one


def _table(findings: Sequence[Finding]) -> list[str]:
    rows = [(one.subject, one.kind.value, one.detail) for one in findings]
    widths = [max((len(row[column]) for row in rows), default=0) for column in (0, 1)]
    return [f"{row[0]:{widths[0]}}  {row[1]:{widths[1]}}  {row[2]}" for row in rows]

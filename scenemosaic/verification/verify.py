"""Verification of a job: every window, the mosaic and its small files, and what is stray."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from scenemosaic import keys
from scenemosaic.errors import NotAnObject, PlanLost
from scenemosaic.grids.grid import Tiling
from scenemosaic.job import load_at
from scenemosaic.job_rows import (
    BadRow,
    readable_row_of,
    readable_rows,
    rows_of,
    window_number,
)
from scenemosaic.machine.parallel import in_parallel
from scenemosaic.manifests.port import Row
from scenemosaic.places import Place
from scenemosaic.session import JobSpec, Session, open_session, session_at
from scenemosaic.verification.findings import Finding, Kind, WindowState
from scenemosaic.verification.inspection import UNREADABLE, bad_row, inspect_window
from scenemosaic.verification.mosaic_check import MosaicCheck
from scenemosaic.verification.other_root import other_root
from scenemosaic.verification.report import VerifyReport
from scenemosaic.verification.small_files import check_plan
from scenemosaic.verification.strays import strays

WORKERS = 8
# Told of the stage ("windows" or "mosaic"), how much of it is done, and of how much.
Progress = Callable[[str, int, int], None]
_Queried = tuple[int, Row | BadRow | None]


def silent(stage: str, done: int, total: int) -> None:
    """The progress of whoever does not care."""


def verify_job(
    job_id: str,
    place: Place,
    *,
    names: Sequence[str] = (),
    deep: bool = False,
    workers: int = WORKERS,
    progress: Progress = silent,
) -> VerifyReport:
    """Verify a job by its ID; with ``names`` these windows alone.

    Where ``plan.json`` is damaged, may not be read, or is gone and other things of the job are
    there, that is all that can be found. Raises InputError where the root holds no such job, or
    a newer one.
    """
    try:
        spec = load_at(job_id, place)
    except (PlanLost, NotAnObject, *UNREADABLE):
        return _without_plan(job_id, place)
    tiling = spec.plan.recipe.tiling()
    windows = [tiling.number(name) for name in names] or None
    return verify(spec, windows=windows, deep=deep, workers=workers, progress=progress)


def verify(
    spec: JobSpec,
    *,
    windows: Sequence[int] | None = None,
    deep: bool = False,
    workers: int = WORKERS,
    progress: Progress = silent,
) -> VerifyReport:
    """Compare what stands with the plan and the rows; with ``windows`` only these.

    Reads each object once, ``workers`` at a time, and holds none of them whole; changes
    nothing. ``deep`` decodes every block of tiles and mosaic. Raises StoreErrors that
    outlast their retries.
    """
    session = open_session(spec)
    begun = session.effects.clock()
    found = _Found(spec.plan.recipe.tiling(), progress)
    found.findings += check_plan(session, spec.plan.job_id)
    if windows is None:
        _all(session, spec, found, deep, workers)
    else:
        numbers = sorted(set(windows))
        found.names = tuple(found.tiling.window(number).name for number in numbers)
        _inspect(session, spec, rows_of(session, spec, numbers), found, deep, workers)
    return replace(found.report(spec), seconds=session.effects.clock() - begun)


@dataclass(slots=True)
class _Found:
    """What was found so far."""

    tiling: Tiling
    progress: Progress
    findings: list[Finding] = field(default_factory=list)
    names: tuple[str, ...] | None = None
    waived: list[str] = field(default_factory=list)
    checked: int = 0
    bytes: int = 0
    rows: int = 0
    revision: int = 0
    other_root: str | None = None

    def add(self, state: WindowState) -> None:
        self.checked += 1
        self.bytes += state.info.size_bytes if state.info else 0
        self.findings += state.findings
        if state.row is not None and state.row.waiver is not None:
            self.waived.append(state.name)
        total = len(self.tiling) if self.names is None else len(self.names)
        self.progress("windows", self.checked, total)

    def report(self, spec: JobSpec) -> VerifyReport:
        return VerifyReport(
            job_id=spec.plan.job_id,
            shape=(self.tiling.rows, self.tiling.cols),
            checked=self.checked,
            findings=tuple(sorted(self.findings, key=self._order)),
            bytes=self.bytes,
            seconds=0.0,
            waived=tuple(sorted(self.waived)),
            names=self.names,
            revision=self.revision,
            other_root=self.other_root,
        )

    def _order(self, finding: Finding) -> tuple[int, int]:
        """The windows' first, in their order; the others as they were found."""
        number = window_number(self.tiling, finding.subject)
        return (1, 0) if number is None else (0, number)


def _all(session: Session, spec: JobSpec, found: _Found, deep: bool, workers: int) -> None:
    mosaic = MosaicCheck(session, spec)
    _inspect(session, spec, _queried(session, spec, mosaic, found), found, deep, workers)

    def progress(done: int, total: int) -> None:
        found.progress("mosaic", done, total)

    found.findings += mosaic.findings(deep=deep, workers=workers, progress=progress)
    found.bytes += mosaic.size_bytes
    found.findings += strays(session, spec, mosaic.revision)
    found.revision = mosaic.revision
    if not found.rows:
        found.other_root = other_root(session, spec)


def _queried(
    session: Session, spec: JobSpec, mosaic: MosaicCheck, found: _Found
) -> Iterator[_Queried]:
    """Every window of the plan with its row: those that have one first."""
    with_row = bytearray(len(found.tiling))
    for row in readable_rows(session, spec):
        found.rows += 1
        number = window_number(found.tiling, row.window)
        if row.window == keys.MOSAIC_ROW:
            mosaic.add_own(row)
        elif number is None:
            found.findings.append(_of_no_window(row))
        else:
            with_row[number] = 1
            if isinstance(row, Row):
                mosaic.add(number, row)
            yield number, row
    yield from ((number, None) for number, there in enumerate(with_row) if not there)


def _of_no_window(row: Row | BadRow) -> Finding:
    if isinstance(row, BadRow):
        return bad_row(row.window, row)
    return Finding(row.window, Kind.STRAY, "a row of no window of the plan")


def _inspect(
    session: Session,
    spec: JobSpec,
    queried: Iterator[_Queried],
    found: _Found,
    deep: bool,
    workers: int,
) -> None:
    def inspect(one: _Queried) -> WindowState:
        number, row = one
        state = inspect_window(session, spec, number, row, deep=deep)
        if state.findings and (fresh := readable_row_of(session, spec, number)) != row:
            return inspect_window(session, spec, number, fresh, deep=deep)  # a run is under way
        return state

    for state in in_parallel(inspect, queried, workers):
        found.add(state)


def _without_plan(job_id: str, place: Place) -> VerifyReport:
    """What can be said where no plan is readable."""
    session = session_at(place)
    try:
        findings = check_plan(session, job_id)
    finally:
        session.store.close()
        session.manifest.close()
    return VerifyReport(job_id, (0, 0), 0, tuple(findings), 0, 0.0, (), ())

"""The count of one run: each window of the plan once, whatever was tried how often."""

import threading
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from flows.reports.scene import ProcessReport, Stage
from flows.scenes.session import Observer
from scenemosaic.auditing.audit import Record
from scenemosaic.auditing.trail import Trace
from scenemosaic.errors import IncompleteError, SceneMosaicError
from scenemosaic.gaps import GapReport
from scenemosaic.job import MosaicResult, WindowOutcome
from scenemosaic.words import counted, some

NAMED = 8
SAME_COMMAND = "the same command goes on there"


class Tally:
    """Collects outcomes by window, thread-safely; the last word on a window counts.

    A window without an outcome of this run was there before it, or is missing.
    """

    def __init__(self, windows: int, observer: Observer) -> None:
        self._windows = windows
        self._observer = observer
        self._lock = threading.Lock()
        self._outcomes: dict[str, WindowOutcome] = {}
        self._missing: set[str] = set()
        self._counters: Counter[str] = Counter()
        self._objects: Counter[str] = Counter()
        self._unrecorded: list[Record] = []

    def begin(self, missing: Iterable[str]) -> None:
        """``missing`` are the names without a row as the run begins."""
        self._missing = set(missing)
        self._observer.windows(self._windows, self._windows - len(self._missing))

    def left(self, missing: Iterable[str]) -> None:
        """``missing`` are the names without a row now; who made the others is not known."""
        with self._lock:
            self._missing = set(missing)

    def add(self, outcome: WindowOutcome) -> None:
        """Note one window's outcome; called from the workers as each is done."""
        with self._lock:
            known = self._outcomes.get(outcome.window)
            # A task's retry finds what its first try wrote: that stays written.
            if known is None or known.outcome == "failed":
                self._outcomes[outcome.window] = outcome
            if outcome.outcome != "failed":
                self._missing.discard(outcome.window)
        if known is None:
            self._observer.window(outcome)

    def count(self, counters: Mapping[str, int], unrecorded: Iterable[Record] = ()) -> None:
        """Add a batch's counters, and what it could not record."""
        with self._lock:
            self._counters.update(counters)
            self._unrecorded.extend(unrecorded)

    def trace(self, trace: Trace) -> None:
        """Add what commits of other objects came to: plan, mosaic, preview, item."""
        with self._lock:
            self._objects.update(trace.counters)
            self._unrecorded.extend(trace.unrecorded)

    @property
    def unrecorded(self) -> tuple[Record, ...]:
        """What is not in the audit log yet."""
        return tuple(self._unrecorded)

    def check(self, gaps: GapReport, go_on: str = SAME_COMMAND) -> None:
        """Raise IncompleteError where the manifest's own gap report names a window.

        ``go_on`` says how they are made.
        """
        self._missing = set(gaps.missing)
        if gaps.missing:
            raise IncompleteError(f"{self._gap_text(gaps)}{self._next(gaps.missing, go_on)}")

    def report(
        self,
        job_id: str,
        mosaic: MosaicResult | None,
        error: SceneMosaicError | None,
        stages: tuple[Stage, ...],
        seconds: float,
    ) -> ProcessReport:
        """The run as a value: written, already present and missing add up to the plan's windows."""
        missing = tuple(sorted(self._missing))
        wrote = tuple(name for name in self._outcomes if self._is_written(name))
        written = len(wrote)
        return ProcessReport(
            job_id=job_id,
            windows=self._windows,
            written=written,
            already_present=self._windows - written - len(missing),
            missing=missing,
            seconds=seconds,
            mosaic=mosaic,
            error=error,
            stages=stages,
            counters=dict(self._counters),
            objects=dict(self._objects),
            wrote=wrote,
        )

    def _is_written(self, name: str) -> bool:
        return name not in self._missing and self._outcomes[name].outcome == "written"

    def _gap_text(self, gaps: GapReport) -> str:
        names = [self._with_reason(name) for name in gaps.missing[:NAMED]]
        more = len(gaps.missing) - len(names)
        rest = f" and {more} more" if more > 0 else ""
        return (
            f"{len(gaps.missing)} of {counted(gaps.windows, 'window')} "
            f"{'is' if len(gaps.missing) == 1 else 'are'} missing: {', '.join(names)}{rest}; "
            "no mosaic was written; what is committed stays"
        )

    def _next(self, missing: Sequence[str], go_on: str) -> str:
        """How the missing are made: by going on, but for those which that cannot change."""
        by_remedy: dict[str | None, list[str]] = {}
        for name in missing:
            outcome = self._outcomes.get(name)
            by_remedy.setdefault(None if outcome is None else outcome.remedy, []).append(name)
        others = by_remedy.pop(None, [])
        if not others and len(by_remedy) == 1:
            return f"; {next(iter(by_remedy))}"
        ways = [f"{remedy} ({some(names)})" for remedy, names in by_remedy.items()]
        if not others:
            return "".join(f"; {way}" for way in ways)
        rest = f" with {some(others)}" if ways else ""
        return "".join([f", and {go_on}{rest}", *(f"; {way}" for way in ways)])

    def _with_reason(self, name: str) -> str:
        outcome = self._outcomes.get(name)
        reason = outcome.error if outcome is not None else None
        return f"{name} ({reason})" if reason else name

"""A batch of windows in a process of its own, which another may have begun and died with."""

from collections import Counter
from collections.abc import Iterator, Sequence

from scenemosaic.job_rows import row_of
from scenemosaic.session import JobSpec, Run, Session, open_session
from scenemosaic.windows import BatchResult, WindowOutcome, commit_windows


def resume_windows(spec: JobSpec, numbers: Sequence[int], run: Run) -> BatchResult:
    """:func:`commit_windows`, with what an earlier try of the same run committed as outcomes.

    An engine gives a dead worker's batch to another, and nobody was told what it had done.
    """
    found = dict(_standing(open_session(spec), spec, numbers, run))
    rest = commit_windows(spec, [one for one in numbers if one not in found], run)
    counters = Counter(rest.counters)
    counters.update(outcome.outcome.replace("-", "_") for outcome in found.values())
    return BatchResult((*found.values(), *rest.outcomes), dict(counters), rest.unrecorded)


def _standing(
    session: Session, spec: JobSpec, numbers: Sequence[int], run: Run
) -> Iterator[tuple[int, WindowOutcome]]:
    # Windows are committed in their order: without a row of its first, a batch is a new one.
    for number in numbers:
        row = row_of(session, spec, number)
        if row is not None:
            ours = row.written_by == run.written_by
            state = WindowOutcome(row.window, "written" if ours else "already-present", row.bytes)
            yield number, state
        elif number == numbers[0]:
            return

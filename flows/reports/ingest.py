"""What a scheduled ingest came to: which scenes are settled, and which are found again. Pure."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from flows.reports.backfill import SceneRow
from scenemosaic.errors import ConflictError, InputError

_SETTLED: Final = (0, ConflictError.exit_code)


def is_settled(row: SceneRow) -> bool:
    """Whether the schedule is done with a scene: a run has it, all was there, or it is refused.

    Of what is refused there is no job. A scene that was planned and not started is not its fault.
    """
    refused = row.exit_code == InputError.exit_code and row.job_id is None
    return row.run_id is not None or row.exit_code in _SETTLED or refused


@dataclass(frozen=True, slots=True)
class IngestReport:
    """Rows of the scenes that were new, oldest first.

    ``left`` more were too many for this time. ``contended``: others moved the cursor each
    time that this run wanted to, so that its scenes are found again, and are there then.
    """

    rows: tuple[SceneRow, ...]
    left: int = 0
    contended: bool = False
    seconds: float = 0.0

    @property
    def kept(self) -> Sequence[SceneRow]:
        """What could not be started, and is new again next time."""
        return [row for row in self.rows if not is_settled(row)]

    @property
    def has_failed(self) -> bool:
        """Whether a scene was not started, or its run failed; refused scenes are rows, no more."""
        fine = (*_SETTLED, InputError.exit_code)
        return bool(self.kept) or any(row.exit_code not in fine for row in self.rows)

    @property
    def state(self) -> str:
        """The name of the flow run's final state."""
        if not self.rows:
            return "NothingNew"
        return "Incomplete" if self.has_failed else "Ingested"

    @property
    def summary(self) -> str:
        """The counts in one line."""
        counts = Counter(row.state for row in self.rows)
        parts = [f"{count} {name}" for name, count in sorted(counts.items())]
        text = f"{len(self.rows)} new: {', '.join(parts)}" if parts else "nothing new"
        notes = [
            f"{len(self.kept)} kept for next time" if self.kept else "",
            f"{self.left} more wait for the next run" if self.left else "",
            "others moved the cursor first, so these are found again" if self.contended else "",
        ]
        return "; ".join([text, *(note for note in notes if note)])

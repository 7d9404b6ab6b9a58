"""What a backfill came to: a row for each scene, and what they add up to. Pure."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Final

from flows.reports.form_words import in_form_words
from scenemosaic.errors import ConflictError, IncompleteError, InputError
from scenemosaic.words import counted

WOULD_RUN: Final = "WouldRun"
PRESENT: Final = "AlreadyMosaicked"


@dataclass(frozen=True, slots=True)
class SceneRow:
    """One scene. ``state`` is the final state of its run, or what came instead of one.

    ``job_id`` is None where the scene itself is refused.
    """

    scene: str
    job_id: str | None
    state: str
    detail: str
    exit_code: int = 0
    windows: int | None = None
    run_id: str | None = None
    undated: bool = False

    def to_table(self) -> dict[str, object]:
        """The row of an artifact's table."""
        return {
            "scene": self.scene,
            "state": self.state,
            "what happened": in_form_words(self.detail),
            "windows": self.windows,
            "job": self.job_id,
            "run": self.run_id,
        }


@dataclass(frozen=True, slots=True)
class BackfillReport:
    """Rows in the order in which scenes were found."""

    rows: tuple[SceneRow, ...]
    dry_run: bool
    seconds: float = 0.0

    @property
    def counts(self) -> Mapping[str, int]:
        """Scenes by their state."""
        return Counter(row.state for row in self.rows)

    @property
    def exit_code(self) -> int:
        """0 where all is well; what is wrong with all that is wrong; 3 where that differs.

        2 says that nothing was written, so only where every single scene was refused. A dry
        run exits as the run would.
        """
        codes = {row.exit_code for row in self.rows}
        wrong = codes - {0}
        if not wrong:
            return 0
        if len(wrong) == 1 and (wrong != {InputError.exit_code} or codes == wrong):
            return wrong.pop()
        return IncompleteError.exit_code

    @property
    def state(self) -> str:
        """The name of the flow run's final state."""
        if self.dry_run:
            return "DryRun"
        if self.has_failed:
            return "Incomplete"
        if any(row.exit_code == ConflictError.exit_code for row in self.rows):
            return "Conflict"
        if not self.rows:
            return "NothingFound"
        return PRESENT if all(row.state == PRESENT for row in self.rows) else "Backfilled"

    @property
    def has_failed(self) -> bool:
        """Whether there is something to do again, by whomever."""
        fine = (0, ConflictError.exit_code)
        return not self.dry_run and any(row.exit_code not in fine for row in self.rows)

    @property
    def note(self) -> str | None:
        """What people should hear of scenes whose items will say no time."""
        undated = sum(row.undated and row.state != PRESENT for row in self.rows)
        if not undated:
            return None
        return (
            f"{counted(undated, 'scene')} of {len(self.rows)} without a time: the STAC items of "
            "such mosaics cover all years (0001 to 9999), so that every search by time finds them"
        )

    @property
    def summary(self) -> str:
        """The counts in one line."""
        parts = [f"{count} {name}" for name, count in sorted(self.counts.items())]
        return f"{counted(len(self.rows), 'scene')}: {', '.join(parts) or 'nothing to do'}"

    def to_json(self) -> dict[str, object]:
        """The contract of ``backfill --json``."""
        return {
            "state": self.state,
            "scenes": len(self.rows),
            "counts": dict(self.counts),
            "rows": [asdict(row) for row in self.rows],
            "dry_run": self.dry_run,
            "seconds": round(self.seconds, 3),
            "exit_code": self.exit_code,
        }

"""What a repair came to, and what its final state is called."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from scenemosaic import keys
from scenemosaic.errors import (
    ConflictError,
    ForeignObject,
    IncompleteError,
    SceneMosaicError,
    StoreError,
    Superseded,
    TargetGone,
)
from scenemosaic.publishing.published import MosaicResult
from scenemosaic.repair.outcome import WindowRepair
from scenemosaic.verification.findings import DAMAGED, Finding
from scenemosaic.words import counted


@dataclass(frozen=True, slots=True)
class RepairReport:
    """The windows that were looked at, the mosaic as it stands, and what went wrong, if anything.

    ``published``: mosaic, item or preview were repaired as well; ``plan_restored``: plan.json
    was put back before. ``wrong`` is what was found of the first three, ``left`` is what no
    repair mends, such as stray objects.
    """

    job_id: str
    windows: tuple[WindowRepair, ...]
    mosaic: MosaicResult | None
    error: SceneMosaicError | None
    seconds: float
    published: bool = False
    wrong: tuple[Finding, ...] = ()
    left: tuple[Finding, ...] = ()
    plan_restored: bool = False

    @property
    def exit_code(self) -> int:
        return 0 if self.error is None else self.error.exit_code

    @property
    def state(self) -> str:
        """The final state's name, the same as the flow's."""
        if self.error is not None:
            return _name_of(self.error)
        written = self.mosaic is not None and self.mosaic.outcome == "written"
        changed = written or self.published or self.plan_restored
        changed = changed or any(one.changed for one in self.windows)
        return "Repaired" if changed else "NothingToRepair"

    @property
    def summary(self) -> str:
        """One line for people."""
        counts = Counter(one.outcome for one in self.windows)
        mended = sum(one.mended for one in self.windows)
        texts = [f"{count} {outcome}" for outcome, count in sorted(counts.items())]
        texts += [f"{mended} rows mended"] if mended else []
        texts += ["plan.json put back"] if self.plan_restored else []
        return ", ".join(texts) or "no window is wrong"

    @property
    def former_mosaic(self) -> str | None:
        """The key of the mosaic in whose place another was written; it stays as it was."""
        if self.mosaic is None or self.mosaic.outcome != "written" or not self.mosaic.revision:
            return None
        return keys.mosaic_key(self.job_id, self.mosaic.revision - 1)

    @property
    def was_damaged(self) -> bool:
        """Whether the mosaic that was published before is damaged itself."""
        return any(one.kind in DAMAGED and one.subject == "mosaic" for one in self.wrong)

    def count(self, outcome: str) -> int:
        return sum(one.outcome == outcome for one in self.windows)


def _name_of(error: SceneMosaicError) -> str:
    if isinstance(error, IncompleteError):
        return "Incomplete"
    if isinstance(error, StoreError):
        return "StoreFault"
    return "".join(word.capitalize() for word in error.kind.split("-"))


def verdict(outcomes: Sequence[WindowRepair]) -> SceneMosaicError | None:
    """What a person has to know of the windows before a mosaic is made of them; None: go on."""
    conflicts = [one for one in outcomes if one.outcome in ("superseded", "target-gone")]
    if conflicts:
        return _conflict(conflicts)
    blocked = [one for one in outcomes if one.outcome == "blocked"]
    if blocked:
        return ForeignObject(
            f"{counted(len(blocked), 'window')} cannot be repaired where something stands that is "
            f"not ours, or may not be read: {_named(blocked)}; then repair again"
        )
    failed = [one for one in outcomes if one.outcome == "failed"]
    if failed:
        return IncompleteError(
            f"{len(failed)} windows could not be computed: {_named(failed)}; mend the source, or "
            "`scenemosaic waive` windows that have no row"
        )
    return None


def _conflict(conflicts: Sequence[WindowRepair]) -> ConflictError:
    newer = [one for one in conflicts if one.outcome == "superseded"]
    if newer:
        return Superseded(
            f"{len(newer)} windows changed since they were inspected, and were left as they are: "
            f"{_named(newer)}; look at them, and repair again"
        )
    return TargetGone(
        f"{len(conflicts)} windows were deleted since they were inspected: {_named(conflicts)}; "
        "find out by whom, and repair again"
    )


def _named(found: Sequence[WindowRepair], most: int = 4) -> str:
    more = f" and {len(found) - most} more" if len(found) > most else ""
    return "; ".join(f"{one.window} ({one.detail})" for one in found[:most]) + more

"""What one run of ``process`` came to: the value behind the flow's named final state."""

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

from scenemosaic.committing.metrics import REFUSALS
from scenemosaic.committing.outcome import COUNTERS, OF_WINDOWS, Outcome
from scenemosaic.errors import ConflictError, SceneMosaicError
from scenemosaic.words import counted

if TYPE_CHECKING:
    from scenemosaic.job import MosaicResult


@dataclass(frozen=True, slots=True)
class Stage:
    """A part of the run and its wall seconds."""

    name: str
    seconds: float


@dataclass(frozen=True, slots=True)
class ProcessReport:
    """Counts of windows (they add up to ``windows``), the mosaic, and what went wrong, if anything.

    ``counters`` are of windows, ``objects`` of everything else that was committed: plan,
    mosaic, preview, item. ``seconds`` is wall time from the start of planning. ``wrote`` names
    the windows that this run wrote.
    """

    job_id: str
    windows: int
    written: int
    already_present: int
    missing: tuple[str, ...]
    seconds: float
    mosaic: "MosaicResult | None" = None
    error: SceneMosaicError | None = None
    stages: tuple[Stage, ...] = ()
    counters: dict[str, int] = field(default_factory=dict)
    objects: dict[str, int] = field(default_factory=dict)
    wrote: tuple[str, ...] = ()

    @property
    def totals(self) -> dict[str, int]:
        """Every outcome by name, those of windows apart from those of other objects.

        The former add up to ``windows``. What commits met on the way is added up.
        """
        windows = {"written": self.written, "already_present": self.already_present}
        outcomes = [outcome.value.replace("-", "_") for outcome in Outcome]
        apart = {f"objects_{name}": self.objects.get(name, 0) for name in outcomes}
        met = {name: self._met(name) for name in (*COUNTERS, *OF_WINDOWS)}
        named = {REFUSALS if name == "refused" else name: count for name, count in met.items()}
        return windows | {"missing": len(self.missing)} | named | apart

    def _met(self, name: str) -> int:
        return self.counters.get(name, 0) + self.objects.get(name, 0)

    @property
    def exit_code(self) -> int:
        """0, or what the error's group says; superseded is a conflict."""
        if self.error is not None:
            return self.error.exit_code
        return ConflictError.exit_code if self.superseded else 0

    @property
    def superseded(self) -> bool:
        return self.mosaic is not None and self.mosaic.outcome == "superseded"

    @property
    def all_was_there(self) -> bool:
        """Nothing was written by this run, because all of it stood there."""
        return self.written == 0 and self.mosaic is not None and self.mosaic.outcome != "written"

    @property
    def summary(self) -> str:
        """The counts in one line."""
        text = f"{counted(self.windows, 'window')}: {self.written} written"
        if reused := self.counters.get("reused"):
            text += f" ({reused} taken over)"
        text += f", {self.already_present} already there"
        return f"{text}, {len(self.missing)} missing" if self.missing else text

    def to_json(self) -> dict[str, object]:
        """The contract of ``process --json``; with ``error`` and ``exit_code`` on failure."""
        value: dict[str, object] = {
            "job_id": self.job_id,
            "windows": self.windows,
            "written": self.written,
            "already_present": self.already_present,
            "missing": list(self.missing),
            "mosaic": None if self.mosaic is None else mosaic_json(self.mosaic),
            "item": None if self.mosaic is None else self.mosaic.item,
            "preview": None if self.mosaic is None else self.mosaic.preview,
            "seconds": round(self.seconds, 3),
            "counters": self.totals,
        }
        return value if self.error is None else value | error_json(self.error)


def mosaic_json(mosaic: "MosaicResult") -> dict[str, object]:
    """The ``mosaic`` object of the contract: item and preview stand beside it."""
    value: dict[str, object] = asdict(mosaic)
    return {
        name: value[name] for name in value if name not in ("item", "preview", "revision", "trace")
    }


def error_json(error: SceneMosaicError) -> dict[str, object]:
    """What ``--json`` says of an error."""
    return {
        "error": {"kind": error.kind, "message": str(error)},
        "exit_code": error.exit_code,
    }

"""What a verification came to."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from scenemosaic.errors import IncompleteError
from scenemosaic.grids.grid import window_name
from scenemosaic.verification.findings import Finding, Kind
from scenemosaic.words import counted

# What a window looks like on a gap map.
SOUND, WAIVED, MISSING, DAMAGED, UNCHECKED = "sound", "waived", "missing", "damaged", "unchecked"
_MISSING_KINDS = frozenset({Kind.MISSING_ROW, Kind.MISSING_OBJECT, Kind.DELETE_MARKER})


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """What was ``checked`` (windows), and what is off. ``bytes`` were read.

    ``shape`` are the rows and columns of the plan's windows, (0, 0) where no plan can be read.
    ``waived`` names windows that hold nodata on purpose; ``names`` are the windows that were
    checked, None where that is all of them. ``revision`` is that of the mosaic that the item
    leads to. ``other_root``: this root has no rows, and the manifest has some of that one.
    """

    job_id: str
    shape: tuple[int, int]
    checked: int
    findings: tuple[Finding, ...]
    bytes: int
    seconds: float
    waived: tuple[str, ...] = ()
    names: tuple[str, ...] | None = None
    revision: int = 0
    other_root: str | None = None

    @property
    def windows(self) -> int:
        return self.shape[0] * self.shape[1]

    @property
    def is_sound(self) -> bool:
        return not self.findings

    @property
    def exit_code(self) -> int:
        """0, or 3 where anything is off."""
        return 0 if self.is_sound else IncompleteError.exit_code

    @property
    def counts(self) -> Mapping[str, int]:
        """Findings by kind."""
        return dict(Counter(finding.kind.value for finding in self.findings))

    @property
    def summary(self) -> str:
        """One line for people."""
        text = f"{self.checked} of {counted(self.windows, 'window')} checked"
        if self.is_sound:
            return f"{text}: all is well"
        counts = sorted(self.counts.items())
        kinds = ", ".join(f"{kind} x {count}" if count > 1 else kind for kind, count in counts)
        return f"{text}: {counted(len(self.findings), 'finding')} ({kinds})"

    def states(self) -> Mapping[str, str]:
        """The state of each of the plan's windows by its name, for a gap map."""
        rows, cols = self.shape
        every = (window_name(row, col) for row in range(rows) for col in range(cols))
        states = dict.fromkeys(every, SOUND if self.names is None else UNCHECKED)
        states |= dict.fromkeys(self.names or (), SOUND)
        states |= dict.fromkeys(self.waived, WAIVED)
        for finding in self.findings:
            if finding.subject in states and states[finding.subject] != DAMAGED:
                missing = finding.kind in _MISSING_KINDS
                states[finding.subject] = MISSING if missing else DAMAGED
        return states

    def to_json(self) -> dict[str, object]:
        """The contract of ``verify --json``."""
        return {
            "job_id": self.job_id,
            "windows": self.windows,
            "checked": self.checked,
            "findings": [finding.to_json() for finding in self.findings],
            "counts": dict(self.counts),
            "waived": list(self.waived),
            "revision": self.revision,
            "other_root": self.other_root,
            "bytes": self.bytes,
            "seconds": round(self.seconds, 3),
        }

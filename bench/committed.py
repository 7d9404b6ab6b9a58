"""A job whose tiles all have rows, from which assembly starts again and again."""

import shutil
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Committed:
    """The job's root, and a copy of its manifest as it was before the mosaic."""

    root: Path
    job_id: str
    manifest: Path
    before: frozenset[Path] = field(repr=False)

    @classmethod
    def found(cls, root: Path, job_id: str, manifest: Path) -> "Committed":
        """The job as it stands now."""
        return cls(root, job_id, manifest, frozenset(_files(root)))

    @property
    def mosaic(self) -> Path:
        """Where the job's mosaic is once it was assembled."""
        return self.root / "mosaics" / self.job_id / "mosaic.tif"

    def rewind(self) -> None:
        """Take away the mosaic, what belongs to it, and its row."""
        for path in set(_files(self.root)) - self.before:
            path.unlink()
        for path in self.manifest.iterdir():
            shutil.copyfile(path, self.root / path.name)


def _files(root: Path) -> list[Path]:
    return [path for path in root.rglob("*") if path.is_file()]

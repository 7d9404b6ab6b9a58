"""The local file that takes encoded runs of the top levels until the mosaic is composed."""

import contextlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import IO

from scenemosaic.stores.local_files import WRITE_BYTES, naming
from scenemosaic.stores.port import FileSlice
from scenemosaic.tiff.runs import Run


@dataclass(slots=True)
class Scratch:
    """A file that runs are appended to. It is not buffered: a run is written when it is added."""

    file: IO[bytes]
    path: str
    _end: int = field(default=0)

    def add(self, run: Run) -> FileSlice | None:
        """Append a run; None where all its blocks are sparse. Raises StoreError."""
        size = run.size_bytes
        if not size:
            return None
        with _said("writing", os.path.dirname(self.path)):
            self.file.seek(self._end)
            for piece in run.pieces:
                self._write(piece)
        start, self._end = self._end, self._end + size
        return FileSlice(self.path, start, size)

    def read(self, part: FileSlice) -> bytes:
        """The bytes of a run that was added; from any thread."""
        return os.pread(self.file.fileno(), part.size_bytes, part.offset)

    def _write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[self.file.write(view[:WRITE_BYTES]) :]


@contextmanager
def scratch_file() -> Iterator[Scratch]:
    """An empty one, gone afterwards. Raises StoreError where there is no room for it."""
    with contextlib.ExitStack() as stack:
        with _said("making", "the temporary folder"):
            file = stack.enter_context(
                tempfile.NamedTemporaryFile(prefix="scenemosaic-", buffering=0)
            )
        yield Scratch(file.file, file.name)


def _said(doing: str, folder: str) -> contextlib.AbstractContextManager[None]:
    return naming(f"{doing} a scratch file in {folder} (TMPDIR names another)")

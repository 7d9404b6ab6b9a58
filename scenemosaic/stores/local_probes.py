"""What preflight alone may do in a folder: list and delete its own probes."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from scenemosaic.keys import check_probe_key
from scenemosaic.stores import local_files as files
from scenemosaic.stores.local_layout import Layout
from scenemosaic.stores.port import Version


class LocalProbes:
    """A folder keeps one version of each object."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout

    def versions(self, prefix: str) -> Iterator[Version]:
        return (Version(key, None, current=True) for key in self._layout.keys(prefix))

    def delete(self, key: str, version_id: str | None = None) -> None:
        path = self._layout.path(check_probe_key(key))
        meta = self._layout.meta_path(key)
        with (
            files.naming(f"deleting {self._layout.named(key)}"),
            files.locked(self._layout.lock_path(key)),
        ):
            for file in (path, meta):
                file.unlink(missing_ok=True)
            for file in (path, meta):
                _remove_empty(file.parent)


def _remove_empty(folder: Path) -> None:
    """The probe's own folder and ``preflight`` above it, once nothing else is in them."""
    for place in (folder, folder.parent):
        with contextlib.suppress(FileNotFoundError):
            if any(place.iterdir()):
                return
            with contextlib.suppress(OSError):  # something came in meanwhile: it stays
                place.rmdir()

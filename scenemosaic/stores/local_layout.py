"""Where the local store keeps what, and which keys a folder holds."""

import hashlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from scenemosaic.errors import (
    InputError,
    NotAnObject,
    PermanentStoreError,
    SceneMosaicError,
    Unreadable,
)
from scenemosaic.keys import HIDDEN, check_key
from scenemosaic.stores import local_files as files

MANIFEST = "manifest.db"


class Layout:
    """Paths below a root: an object at its key, all else of ours in one hidden folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._below = os.path.join(root, "")
        self.scratch_folder = root / HIDDEN / "tmp"
        self.proof_folder = root / HIDDEN / "preflight"

    def path(self, key: str) -> Path:
        """The object's path.

        Raises InputError where the key is the store's own, NotAnObject where it leaves the
        root, PermanentStoreError where the hidden folder does.
        """
        if is_reserved(check_key(key)):
            raise InputError(f"{key!r} is kept for the store itself")
        self._check_inside(HIDDEN, PermanentStoreError)
        self._check_inside(key, NotAnObject)
        return Path(self.named(key))

    def _check_inside(self, name: str, error: type[SceneMosaicError]) -> None:
        # The root has no links in it (scenemosaic.roots): what lies below is looked at.
        if not any(map(os.path.islink, _steps(self._below, name))):
            return
        inner = self._below + name
        real = os.path.realpath(inner)
        if real != str(self.root) and not real.startswith(self._below):
            raise error(
                f"{inner} leaves the root {self.root} through a symbolic link; "
                "name the link's target as the root, or remove the link"
            )

    def meta_path(self, key: str) -> Path:
        return Path(f"{self._below}{HIDDEN}/meta/{key}.json")

    def lock_path(self, key: str) -> Path:
        """One of 4096 lock files: keys may share one, which only makes them wait."""
        bucket = hashlib.sha256(key.encode()).hexdigest()[:3]
        return self.root / HIDDEN / "locks" / f"{bucket}.lock"

    def scratch_name(self, name: str) -> str:
        """A hidden file's path below the root."""
        return f"{HIDDEN}/tmp/{name}"

    def named(self, key: str) -> str:
        """The object's path, for messages."""
        return self._below + key if key else str(self.root)

    def keys(self, prefix: str) -> Iterator[str]:
        """Keys that begin with ``prefix``, in byte order. Symbolic links are not followed.

        Folders further down that may not be read are passed over.
        """
        folder = prefix.rpartition("/")[0]
        return self._keys(folder, prefix, self._names(folder))

    def _keys(self, folder: str, prefix: str, names: Sequence[str]) -> Iterator[str]:
        # A folder sorts as if a slash ended its name: that is the order of whole keys.
        for name in sorted(names, key=os.fsencode):
            key = f"{folder}/{name}" if folder else name
            if is_reserved(key) or not (key.startswith(prefix) or prefix.startswith(key)):
                continue
            if name.endswith("/"):
                yield from self._keys(key[:-1], prefix, self._names_if_readable(key[:-1]))
            elif key.startswith(prefix):
                yield key

    def _names_if_readable(self, folder: str) -> list[str]:
        try:
            return self._names(folder)
        except Unreadable:
            return []

    def _names(self, folder: str) -> list[str]:
        with files.naming(f"listing {self.named(folder)}"):
            try:
                found = list(os.scandir(self.root / folder))
            except (FileNotFoundError, NotADirectoryError):
                return []
            except PermissionError as error:
                raise files.unreadable(self.named(folder), error) from error
            folders = [f"{entry.name}/" for entry in found if entry.is_dir(follow_symlinks=False)]
            return folders + [entry.name for entry in found if entry.is_file(follow_symlinks=False)]


def _steps(below: str, name: str) -> Iterator[str]:
    """The paths from the first folder ``below`` a root to what ``name`` names."""
    path = below + name
    end = path.find("/", len(below))
    while end >= 0:
        yield path[:end]
        end = path.find("/", end + 1)
    yield path


def is_reserved(key: str) -> bool:
    """Whether the key's first part is the hidden folder or the default manifest's file."""
    first, slash, _ = key.partition("/")
    return first == HIDDEN or (not slash and first.startswith(MANIFEST))

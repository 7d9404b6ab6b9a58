"""SHA-256 of local files, remembered by path, size, modification time and inode.

A cache only: whatever goes wrong with it, the hash is computed again.
"""

import contextlib
import hashlib
import json
import os
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

# Later changes of an inode (rewritten in place, time stamps put back) show in ctime.
_FIELDS: Final = ("size_bytes", "mtime_ns", "inode", "ctime_ns")


@dataclass(frozen=True, slots=True)
class FileState:
    """What a file looks like without reading it."""

    path: str
    size_bytes: int
    mtime_ns: int
    inode: int
    ctime_ns: int

    @classmethod
    def of(cls, path: str) -> "FileState":
        """The state now. Raises OSError."""
        stat = os.stat(path)
        return cls(path, stat.st_size, stat.st_mtime_ns, stat.st_ino, stat.st_ctime_ns)


_memory: dict[FileState, str] = {}


def remembered(state: FileState) -> str | None:
    """The SHA-256 (hex) of a file in this state, None where it is not known."""
    if state not in _memory:
        found = _read(_entry(state.path), state)
        if found is None:
            return None
        _memory[state] = found
    return _memory[state]


def remember(state: FileState, sha256: str) -> None:
    """Keep the SHA-256 of a file in this state, on disk too where that can be written."""
    _memory[state] = sha256
    with contextlib.suppress(OSError):
        _write(_entry(state.path), json.dumps(asdict(state) | {"sha256": sha256}))


def hash_file(path: str, progress: Callable[[int], None] | None = None) -> str:
    """The SHA-256 (hex) of a file's content, read as a stream."""
    digest, chunk = hashlib.sha256(), bytearray(4 << 20)
    view = memoryview(chunk)
    with open(path, "rb", buffering=0) as file:
        while count := file.readinto(chunk):
            digest.update(view[:count])
            if progress is not None:
                progress(count)
    return digest.hexdigest()


def cache_dir() -> Path:
    """``$XDG_CACHE_HOME/scenemosaic``, by default in ``~/.cache``.

    Below /dev/null, where nothing can be kept, for a user without a home.
    """
    base = os.environ.get("XDG_CACHE_HOME", "")
    # The standard has relative paths ignored; a home that is not known stays "~".
    for folder in (base, os.path.expanduser("~/.cache")):
        if folder.startswith("/"):
            return Path(folder) / "scenemosaic"
    return Path(os.devnull) / "scenemosaic"


def _entry(path: str) -> Path:
    name = hashlib.sha256(os.fsencode(path)).hexdigest()
    return cache_dir() / "pins" / f"{name}.json"


def _read(entry: Path, state: FileState) -> str | None:
    try:
        found: Any = json.loads(entry.read_bytes())
        same = all(found[name] == getattr(state, name) for name in ("path", *_FIELDS))
        sha256 = found["sha256"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return sha256 if same and _is_sha256(sha256) else None


def _is_sha256(value: object) -> bool:
    return isinstance(value, str) and len(value) == 64 and not set(value) - set("0123456789abcdef")


def _write(entry: Path, text: str) -> None:
    entry.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor, temporary = tempfile.mkstemp(dir=entry.parent, prefix=".", suffix=".part")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(text.encode("utf-8", "surrogateescape"))
        os.replace(temporary, entry)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise

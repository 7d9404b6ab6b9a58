"""Scenes below a folder or an S3 prefix, by their names' endings."""

import os
import stat
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from scenemosaic.discovery.found import Found, is_scene
from scenemosaic.errors import InputError, PermanentStoreError
from scenemosaic.moments import epoch_rfc3339
from scenemosaic.roots import looked_at
from scenemosaic.sources.locations import canonical_location, is_local, is_s3, public_uri
from scenemosaic.waiting.retry import Effects, RetryPolicy, system_effects


def below(
    prefix: str, policy: RetryPolicy | None = None, effects: Effects | None = None
) -> Iterator[Found]:
    """Every scene below ``prefix``, in the order of their names.

    Raises InputError where it is neither a folder nor ``s3://bucket/prefix``, StoreError
    where it cannot be listed, however often it is tried again.
    """
    location = canonical_location(prefix)
    if is_s3(location):
        from scenemosaic.discovery.s3_prefix import objects

        return objects(location, policy or RetryPolicy(), effects or system_effects())
    if is_local(location):
        return _files(Path(location))
    raise InputError(f"{public_uri(location)}: only a folder or s3://bucket/prefix can be listed")


def _files(folder: Path) -> Iterator[Found]:
    if not looked_at(folder, Path.is_dir):
        raise InputError(f"{folder} is no folder; give one, or s3://bucket/prefix")
    try:
        found = sorted(_names(folder))
    except OSError as error:
        raise PermanentStoreError(f"{folder} cannot be listed: {error.strerror}") from error
    for path in found:
        one = _file(path)
        if one is not None:
            yield one


def _file(path: Path) -> Found | None:
    # A name may be any bytes, and records are UTF-8.
    name = os.fsencode(path).decode(errors="backslashreplace")
    try:
        known = path.stat()
    except FileNotFoundError:  # taken away in the meantime, or a link that leads nowhere
        return None
    except OSError as error:
        return Found(name, "", "", refused=f"{name}: {error.strerror}")
    # A file that was moved here keeps its mtime; its ctime says when it came.
    found = Found(name, f"{known.st_size}-{known.st_mtime_ns}", epoch_rfc3339(known.st_ctime))
    if not stat.S_ISREG(known.st_mode):
        return replace(found, refused=f"{name}: is no regular file")
    if name != str(path):
        return replace(found, refused=f"{name}: its name is not UTF-8; rename it")
    return found


def _names(folder: Path) -> Iterator[Path]:
    for parent, folders, names in os.walk(folder, onerror=_raise):
        folders[:] = [name for name in folders if not name.startswith(".")]
        yield from (Path(parent) / name for name in names if is_scene(name))


def _raise(error: OSError) -> None:
    raise error

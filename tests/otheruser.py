"""What a user sees who may write nothing: tests may run as root, who may write everywhere."""

import json
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_NOBODY = 65534


@contextmanager
def open_folder() -> Iterator[Path]:
    """A folder that every user may enter, as pytest's own are not."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


def seen_by_reader(folder: Path, look: Callable[[], Any]) -> Any:
    """``look``'s answer, which JSON can hold, where this user may but read what ``folder`` has."""
    paths = [folder, *folder.rglob("*")]
    modes = [path.stat().st_mode for path in paths]
    for path in paths:
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        return _in_a_fork(look)
    finally:
        for path, mode in zip(paths, modes, strict=True):
            path.chmod(mode)


def _in_a_fork(look: Callable[[], Any]) -> Any:
    take, give = os.pipe()
    child = os.fork()
    if not child:
        try:
            if os.geteuid() == 0:
                os.setgroups([])
                os.setresgid(_NOBODY, _NOBODY, _NOBODY)
                os.setresuid(_NOBODY, _NOBODY, _NOBODY)
            os.write(give, json.dumps(look()).encode())
        finally:
            os._exit(0)
    os.close(give)
    with open(take) as answer:
        said = answer.read()
    os.waitpid(child, 0)
    assert said, "what it looked at raised an error"
    return json.loads(said)

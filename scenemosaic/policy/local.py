"""Folders, owners and modes of a local root, and what they cannot hold. Pure."""

import shlex
from pathlib import PurePosixPath

from scenemosaic.keys import HIDDEN
from scenemosaic.roots import Root

USER, GROUP = "scenemosaic", "scenemosaic"
_PRIVATE, _PUBLIC = ("audit", "jobs", "ledger", "stages", "tiles"), "mosaics"
_PRIVATE_MODE, _PUBLIC_MODE = "2770", "2775"

CANNOT: tuple[str, ...] = (
    "no file mode tells a conditional write from another: whoever may write in these folders may "
    "replace and delete everything there. The conditions are kept by this program's own links and "
    "locks, so only its processes should have the group.",
    "roles cannot be told apart: worker, assembler, repairer and publisher need the same folders.",
    "chattr +i closes what is archived to everybody but root; repair cannot change it then.",
)


def commands(root: Root) -> list[str]:
    """What root (the user) runs once: a group of its own, and mosaics/ alone for others to read."""
    base = PurePosixPath(root.prefix)
    owner = f"-o {USER} -g {GROUP}"
    # What is hidden says as much as what it belongs to.
    closed = [HIDDEN, "preflight", *_PRIVATE]
    return [
        f"install -d {owner} -m {_PUBLIC_MODE} {_quoted(base)}",
        f"install -d {owner} -m {_PRIVATE_MODE} {' '.join(_quoted(base / one) for one in closed)}",
        f"install -d {owner} -m {_PUBLIC_MODE} {_quoted(base / _PUBLIC)}",
        "umask 0002  # for every process that writes: others of the group take locks and repair",
    ]


def manifest_command(file: str) -> str:
    """The manifest's own mode: SQLite keeps -wal and -shm beside it with the same one."""
    return f"chmod 0660 {shlex.quote(file)}  # once init has made it"


def _quoted(path: PurePosixPath) -> str:
    return shlex.quote(str(path))

"""Who has something done, for records that people read: the audit log, the ledger."""

import getpass
import os
import socket
from typing import Final

OPERATOR: Final = "SCENEMOSAIC_OPERATOR"


def operator(creator: str = "") -> str:
    """``SCENEMOSAIC_OPERATOR``; else who made the Prefect run, where known; else ``user@host``."""
    return os.environ.get(OPERATOR) or creator or f"{_user()}@{socket.gethostname()}"


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a container's user need not have a name
        return f"uid-{os.getuid()}"

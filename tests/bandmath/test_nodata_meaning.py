"""What ``--nodata`` means for pixels of its value, case by case as docs/scenes.md has them."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rasterio
from rasterio.transform import from_origin

from flows.scenes.session import Silent
from flows.scenes.tally import Tally
from scenemosaic import job
from scenemosaic.errors import IncompleteError
from scenemosaic.job import JobSpec, PlanOptions, Run
from scenemosaic.windows import make_tile

SIDE = 32
N, M, OTHER = 3, 9, 7  # what --nodata says, a source's own nodata, a value like any other


def scenes(folder: Path, *owned: int | None) -> list[str]:
    """Rasters beside each other with the three values, each with its own nodata, if any."""
    pixels = np.full((SIDE, SIDE), OTHER, "uint8")
    pixels[0], pixels[1] = N, M
    paths = []
    for number, nodata in enumerate(owned):
        at = from_origin(500_000 + number * SIDE * 10, 5_000_000, 10, 10)
        profile = {"width": SIDE, "height": SIDE, "count": 1, "dtype": "uint8", "nodata": nodata}
        path = folder / f"{number}.tif"
        with rasterio.open(path, "w", "GTiff", crs="EPSG:32632", transform=at, **profile) as made:
            made.write(pixels, 1)
        paths.append(str(path))
    return paths


def planned(folder: Path, owned: tuple[int | None, ...], **asked: Any) -> JobSpec:
    options = PlanOptions(window=SIDE, block_size=SIDE, **{"nodata": N, **asked})
    return job.plan_job(scenes(folder, *owned), str(folder / "root"), None, options)


def values(spec: JobSpec, number: int) -> list[float | None]:
    """What became of N, of M and of the other value in a window: None for a hole."""
    tile = make_tile(spec, spec.plan.recipe.tiling().window(number))
    with rasterio.MemoryFile(tile.data) as file, file.open() as made:
        pixels, shown = made.read(1)[:3, 0], made.read_masks(1)[:3, 0]
        assert made.nodata == spec.plan.recipe.nodata
    return [float(value) if seen else None for value, seen in zip(pixels, shown, strict=True)]


@pytest.mark.parametrize(
    ("owned", "asked", "expected"),
    [
        ((None,), {}, [[None, M, OTHER]]),
        ((N,), {}, [[None, M, OTHER]]),
        ((M,), {"nodata": 5}, [[N, None, OTHER]]),
        ((None,), {"nodata": 5, "dtype": "int16"}, [[N, M, OTHER]]),
        ((M,), {"nodata": 5, "expression": "b1", "dtype": "uint8"}, [[N, None, OTHER]]),
        ((None, None), {}, [[None, M, OTHER]] * 2),
        ((M, M), {}, [[N + 1, None, OTHER]] * 2),
        ((M, M), {"dtype": "int16"}, [[N + 1, None, OTHER]] * 2),
        ((None, M), {}, [[None, M, OTHER], [N + 1, None, OTHER]]),
    ],
)
def test_what_nodata_means(
    tmp_path: Path,
    owned: tuple[int | None, ...],
    asked: dict[str, Any],
    expected: list[list[float | None]],
) -> None:
    spec = planned(tmp_path, owned, **asked)
    assert [values(spec, number) for number in range(len(owned))] == expected


@pytest.mark.parametrize(
    ("owned", "asked"),
    [
        ((M,), {}),
        ((None,), {"dtype": "int16"}),
        ((None,), {"expression": "b1", "dtype": "uint8"}),
        ((None, None), {"dtype": "int16"}),
        ((M, M), {"expression": "b1", "dtype": "uint8"}),
    ],
)
def test_a_value_that_is_nodata_fails_its_window_and_says_what_to_do(
    tmp_path: Path, owned: tuple[int | None, ...], asked: dict[str, Any]
) -> None:
    spec = planned(tmp_path, owned, **asked)
    job.prepare(spec)
    done = job.commit_windows(spec, [0], Run("test", "test"))
    tally = Tally(len(owned), Silent())
    for outcome in done.outcomes:
        tally.add(outcome)
    with pytest.raises(IncompleteError, match="both nodata and a result") as caught:
        tally.check(job.GapReport(1, 0, (done.outcomes[0].window,)))
    said = "the same command ends alike there: give another --nodata, or another --dtype"
    assert str(caught.value).endswith(f"what is committed stays; {said}")

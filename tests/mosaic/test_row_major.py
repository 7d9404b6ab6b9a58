"""The order of a mosaic's blocks: row-major where that costs nothing, and said where it is so."""

import dataclasses
import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rasterio.io import MemoryFile

from scenemosaic.errors import IncompleteError
from scenemosaic.mosaic import top
from scenemosaic.mosaic.assembly import assembled, tiles_in_order
from scenemosaic.mosaic.block_order import stored_order
from scenemosaic.mosaic.pieces import Piece, PieceLevel
from scenemosaic.stores.gcs import GcsStore
from scenemosaic.stores.local import LocalStore
from scenemosaic.stores.local_compose import write_segments
from scenemosaic.stores.port import Copying, CopyRun, ObjectInfo
from scenemosaic.stores.s3 import S3Store
from scenemosaic.stores.s3_parts import CopyPart, plan_parts
from scenemosaic.tiff import ifd
from scenemosaic.tiff.layout import Placed
from scenemosaic.tiff.runs import Packed, pack
from scenemosaic.tiff.structure import BlockArrays, block_arrays
from scenemosaic.tile import level_shape
from scenemosaic.verification.mosaic_bytes import Verdict, open_mosaic
from tests.mosaic.memory import MemoryJob, recipe_for, tile_job
from tests.mosaic.pictures import noise, same
from tests.validators import assert_gdal_accepts, assert_rio_cogeo_accepts

BLOCK = 32
WINDOW_MAJOR, ROW_MAJOR = Copying(0, 0), Copying()
CLAIM = b"BLOCK_ORDER=ROW_MAJOR\n"


@st.composite
def jobs(draw: st.DrawFn) -> MemoryJob:
    dtype = draw(st.sampled_from(["uint8", "int16", "float32"]))
    shape = (draw(st.integers(1, 3)), draw(st.integers(1, 260)), draw(st.integers(1, 260)))
    pixels = noise(dtype, shape, draw(st.integers(0, 99)))
    sparse = np.random.default_rng(3).random((9, 9)) < draw(st.floats(0, 1))
    is_empty = np.kron(sparse, np.ones((BLOCK, BLOCK), bool))[: shape[1], : shape[2]]
    pixels[:, is_empty] = 0
    mask = np.where(is_empty, 0, 255).astype(np.uint8) if draw(st.booleans()) else None
    recipe = recipe_for(
        pixels,
        BLOCK * draw(st.sampled_from([1, 2, 3, 4])),
        block_size=BLOCK,
        has_mask=mask is not None,
        nodata=pixels.dtype.type(0).item() if mask is None else None,
        resampling="nearest",
        interleave=draw(st.sampled_from(["pixel", "band"])) if shape[0] > 1 else "pixel",
        encoding_version=draw(st.sampled_from([1, 4])),
    )
    return tile_job(pixels, recipe, mask)


def arrays_of(job: MemoryJob, data: bytes) -> list[BlockArrays]:
    tiling = job.plan.recipe.tiling()
    sizes = [tiling.size_at(level) for level in range(tiling.last_level + 1)]
    return block_arrays(ifd.parse(data), [level_shape(job.plan.recipe, *size) for size in sizes])


def increases(level: BlockArrays) -> bool:
    return bool((np.diff(level.offsets[level.sizes > 0].astype(np.int64)) > 0).all())


def images_of(data: bytes) -> list[Any]:
    found = []
    with MemoryFile(data) as memory:
        with memory.open(driver="GTiff") as dataset:
            overviews = len(dataset.overviews(1))
        for number in (None, *range(overviews)):
            option = {} if number is None else {"overview_level": number}
            with memory.open(driver="GTiff", **option) as dataset:
                found += [dataset.read(), dataset.read_masks()]
    return found


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(jobs())
def test_both_orders_hold_the_same_blocks(job: MemoryJob) -> None:
    by_window, by_row = job.mosaic(copying=WINDOW_MAJOR), job.mosaic(copying=ROW_MAJOR)
    pairs = zip(images_of(by_window), images_of(by_row), strict=True)
    assert all(same(one, other) for one, other in pairs)
    levels = arrays_of(job, by_row)
    assert all(level.is_one_run and increases(level) for level in levels)
    assert CLAIM in by_row[:200]
    by_window_levels = arrays_of(job, by_window)
    assert CLAIM not in by_window[:200] or all(map(increases, by_window_levels))
    for one, other in zip(by_window_levels, levels, strict=True):
        assert np.array_equal(one.sizes, other.sizes)


@pytest.mark.parametrize("interleave", ["pixel", "band"])
def test_what_assembly_makes_is_row_major_however_long_the_copies_of_a_store_are(
    interleave: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(top, "_LEAF_BYTES", 32 << 10)  # several leaves of several blocks
    pixels = noise("uint16", (3, 500, 500), 1)
    job = tile_job(pixels, recipe_for(pixels, BLOCK, block_size=BLOCK, interleave=interleave))
    levels = arrays_of(job, job.mosaic(copying=Copying(1 << 30)))
    made_here = levels[job.plan.recipe.tiling().tile_levels + 1 :]
    assert len(made_here) > 2
    assert all(map(increases, made_here))


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(jobs(), st.integers(0, 8000), st.integers(0, 60))
def test_the_order_is_claimed_only_where_it_is_so(
    job: MemoryJob, least_bytes: int, most_runs: int
) -> None:
    data = job.mosaic(copying=Copying(least_bytes, most_runs))
    assert CLAIM not in data[:200] or all(map(increases, arrays_of(job, data)))
    assert all(map(same, images_of(data), images_of(job.mosaic(copying=WINDOW_MAJOR))))


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(jobs(), st.sampled_from([WINDOW_MAJOR, ROW_MAJOR, Copying(4000)]), st.data())
def test_verification_knows_every_order(
    job: MemoryJob, copying: Copying, chosen: st.DataObject
) -> None:
    tiles, recipe = tiles_in_order(job.plan, job.rows), job.plan.recipe
    with assembled(tiles, recipe, job.get, copying=copying) as made:
        data = bytearray().join(map(job.bytes_of, made.stitched.segments))
    sound = verdict_of(job, data)
    assert made.stitched.digest in sound.digests
    assert not sound.windows
    assert not sound.bad_blocks
    behind_header = len(data) - made.stitched.segments[0].size_bytes
    if not behind_header:
        return
    data[-chosen.draw(st.integers(1, behind_header))] ^= 1
    spoiled = verdict_of(job, data)
    assert spoiled.windows or made.stitched.digest not in spoiled.digests


def verdict_of(job: MemoryJob, data: bytearray) -> Verdict:
    def read(offset: int, size_bytes: int) -> bytes:
        return bytes(data[offset : offset + size_bytes])

    mosaic = open_mosaic(read, len(data), job.plan.recipe)
    for number, row in enumerate(job.rows):
        mosaic.add(number, row)
    return mosaic.check(deep=False, workers=2, progress=lambda done, total: None)


def wide_job(**options: Any) -> MemoryJob:
    """3 x 3 windows of 4 x 4 blocks."""
    pixels = noise("uint16", (2, 380, 350))
    recipe = recipe_for(pixels, 4 * BLOCK, block_size=BLOCK, resampling="average", **options)
    mask = np.full(pixels.shape[1:], 255, np.uint8) if recipe.has_mask else None
    return tile_job(pixels, recipe, mask)


@pytest.mark.parametrize("has_mask", [False, True])
@pytest.mark.parametrize("encoding_version", [1, 4])
def test_validators_accept_the_claim(tmp_path: Path, has_mask: bool, encoding_version: int) -> None:
    job = wide_job(has_mask=has_mask, encoding_version=encoding_version)
    file = tmp_path / "mosaic.tif"
    file.write_bytes(job.mosaic())
    assert CLAIM in file.read_bytes()[:200]
    assert_rio_cogeo_accepts(file)
    assert_gdal_accepts(file)


def test_short_rows_stay_in_their_runs() -> None:
    """Level 0's rows are long enough, those of the overviews are not."""
    job = wide_job()
    rows = [run.size_bytes for run in runs_of(job, ROW_MAJOR)]
    runs = [run.size_bytes for run in runs_of(job, WINDOW_MAJOR)]
    assert len(rows) > len(runs)
    assert sum(rows) == sum(runs)
    data = job.mosaic(copying=Copying(12_000))
    level_0, level_1, *_ = arrays_of(job, data)
    assert increases(level_0)
    assert not increases(level_1)
    assert CLAIM not in data[:200]
    assert job.mosaic(copying=Copying(max(rows) + 1)) == job.mosaic(copying=WINDOW_MAJOR)


def runs_of(job: MemoryJob, copying: Copying) -> list[CopyRun]:
    tiles = tiles_in_order(job.plan, job.rows)
    with assembled(tiles, job.plan.recipe, job.get, copying=copying) as made:
        return [one for one in made.stitched.segments if isinstance(one, CopyRun)]


def test_rows_of_earlier_software_stay_in_their_windows() -> None:
    """One such row is enough: a block row cannot be compared without its checksum."""
    job = wide_job()
    first, *others = job.rows
    earlier = pack(Packed(job.tiles[first.output_uri].sizes, None))
    old = dataclasses.replace(job, rows=[dataclasses.replace(first, blocks=earlier), *others])
    data = old.mosaic(copying=ROW_MAJOR)
    assert not increases(arrays_of(old, data)[0])
    assert CLAIM not in data[:200]
    assert all(map(same, images_of(data), images_of(job.mosaic())))


@dataclasses.dataclass(frozen=True)
class OpenFile:
    """A file as the local store holds it open."""

    file: io.FileIO
    info: ObjectInfo

    @property
    def descriptor(self) -> int:
        return self.file.fileno()

    @property
    def status(self) -> Any:
        import os

        return os.fstat(self.descriptor)


def test_a_damaged_block_row_is_found_and_named(tmp_path: Path) -> None:
    job = wide_job()
    run = next(run for run in runs_of(job, ROW_MAJOR) if run.size_bytes > 9000)
    data = bytearray(job.tiles[run.key].data)
    data[run.offset + 5] ^= 1
    (tmp_path / "tile").write_bytes(data)

    @contextmanager
    def opened(key: str) -> Iterator[OpenFile]:
        with io.FileIO(tmp_path / "tile") as file:
            yield OpenFile(file, ObjectInfo(key, len(data), run.etag))

    where = f"{run.key} holds other bytes .* from byte {run.offset} to"
    with (tmp_path / "mosaic").open("wb") as target, pytest.raises(IncompleteError, match=where):
        write_segments([run], target.fileno(), opened)
    after = dataclasses.replace(run, offset=run.offset + run.size_bytes, crc=None)
    with (tmp_path / "other").open("wb") as target:
        write_segments([dataclasses.replace(after, size_bytes=9)], target.fileno(), opened)


def test_rows_that_s3_copies_by_itself_are_row_major_there() -> None:
    """Of windows of 4096 pixels, all parts of level 0 but the gathered ones are block rows."""
    level = large_level(block_bytes=700_000)
    stored = stored_order(level, S3Store.capabilities.copying)
    assert stored.level.in_rows
    parts = plan_parts(stored.sources)
    assert [part.size_bytes for part in parts] == [8 * 700_000] * 24 * 3
    assert all(isinstance(part, CopyPart) for part in parts)
    first = [part.run for part in parts[:4] if isinstance(part, CopyPart)]
    assert [run.key for run in first] == ["0", "1", "2", "0"]
    assert [run.offset for run in first] == [100, 100, 100, 100 + 8 * 700_000]
    assert [run.crc for run in first] == [0, 0, 0, 1]
    (whole,) = stored.level.runs
    assert np.array_equal(whole.sizes, np.full(24 * 24, 700_000))


def test_rows_that_s3_would_not_copy_stay_in_their_runs() -> None:
    level = large_level(block_bytes=600_000)
    stored = stored_order(level, S3Store.capabilities.copying)
    assert not stored.level.in_rows
    assert len(stored.sources) == 9
    assert stored_order(level, GcsStore.capabilities.copying).level.in_rows
    assert stored_order(level, LocalStore.capabilities.copying).level.in_rows


def large_level(block_bytes: int) -> PieceLevel:
    """3 x 3 runs of 8 x 8 blocks of 512 pixels, all of one size."""
    recipe = recipe_for(np.zeros((3, 3 * 4096, 3 * 4096), np.uint8), 4096)
    shape, run = (level_shape(recipe, side, side) for side in (3 * 4096, 4096))
    sizes = np.full(64, block_bytes, np.uint32)
    pieces = [
        Piece(
            Placed(8 * (number // 3), 8 * (number % 3), run, sizes),
            CopyRun(str(number), "e", 100, 64 * block_bytes, 7),
            7,
            "digest",
            np.arange(8, dtype=np.uint32),
        )
        for number in range(9)
    ]
    return PieceLevel(shape, 4096, pieces, recipe)

"""Reading windows: pixels and masks as they are, failures named, handles bounded."""

import os
import shutil
import threading
from pathlib import Path

import numpy as np
import pytest
import rasterio

from scenemosaic.errors import SourceReadError
from scenemosaic.grids.grid import Window
from scenemosaic.sources import rasters as sources
from scenemosaic.sources.rasters import close_sources, read_metadata, read_window
from tests.plan.rasters import write_raster

WINDOW = Window(1, 2, 10, 20, 30, 45)
PIXELS = np.arange(2 * 60 * 50).reshape(2, 60, 50).astype("float32")


def open_count() -> int:
    return sum(
        1
        for fd in os.listdir("/proc/self/fd")
        if os.path.exists(f"/proc/self/fd/{fd}")
        and os.readlink(f"/proc/self/fd/{fd}").endswith(".tif")
    )


def test_a_window_is_its_pixels(tmp_path: Path) -> None:
    source = write_raster(tmp_path / "a.tif", PIXELS)
    pixels, mask = read_window(source, WINDOW)
    np.testing.assert_array_equal(pixels, PIXELS[:, 10:30, 20:45])
    assert pixels.dtype == PIXELS.dtype
    assert mask is None


def test_an_internal_mask_comes_with_it(tmp_path: Path) -> None:
    source = write_raster(tmp_path / "a.tif", PIXELS)
    hidden = np.zeros((60, 50), bool)
    hidden[12, 22] = True
    with rasterio.Env(GDAL_TIFF_INTERNAL_MASK=True), rasterio.open(source, "r+") as dataset:
        dataset.write_mask(~hidden)
    _, mask = read_window(source, WINDOW)
    assert mask is not None
    np.testing.assert_array_equal(mask, np.where(hidden, 0, 255)[10:30, 20:45])


def test_nodata_and_alpha_are_no_mask(tmp_path: Path) -> None:
    assert read_window(write_raster(tmp_path / "a.tif", PIXELS, nodata=3), WINDOW)[1] is None
    rgba = np.zeros((4, 60, 50), "uint8")
    source = write_raster(tmp_path / "b.tif", rgba, photometric="RGB", alpha="YES")
    assert read_window(source, WINDOW)[1] is None


def test_a_corrupt_block_is_named_with_its_window(tmp_path: Path) -> None:
    options = {"tiled": True, "blockxsize": 16, "blockysize": 16, "compress": "deflate"}
    source = Path(write_raster(tmp_path / "a.tif", PIXELS, **options))
    with rasterio.open(source) as dataset:
        offset = int(dataset.get_tag_item("BLOCK_OFFSET_1_1", "TIFF", bidx=1))
    data = bytearray(source.read_bytes())
    data[offset : offset + 8] = b"\xff" * 8
    source.write_bytes(data)
    with pytest.raises(SourceReadError) as caught:
        read_window(str(source), WINDOW)
    assert str(source) in str(caught.value)
    assert "window 0001_0002 (rows 10:30, columns 20:45)" in str(caught.value)
    far = Window(0, 0, 40, 40, 60, 50)
    np.testing.assert_array_equal(read_window(str(source), far)[0], PIXELS[:, 40:, 40:])


def test_a_missing_source_is_named(tmp_path: Path) -> None:
    with pytest.raises(SourceReadError, match=r"none\.tif.*No such file"):
        read_window(str(tmp_path / "none.tif"), WINDOW)
    with pytest.raises(SourceReadError, match=r"none\.tif"):
        read_metadata(str(tmp_path / "none.tif"))


def test_a_replaced_file_is_opened_again(tmp_path: Path) -> None:
    source = write_raster(tmp_path / "a.tif", PIXELS)
    read_window(source, WINDOW)
    write_raster(tmp_path / "b.tif", PIXELS + 1)
    (tmp_path / "b.tif").replace(source)
    np.testing.assert_array_equal(read_window(source, WINDOW)[0], PIXELS[:, 10:30, 20:45] + 1)


def test_open_datasets_are_few_and_reused(tmp_path: Path) -> None:
    close_sources()
    before = open_count()
    for number in range(3 * sources.MAX_OPEN_PER_THREAD):
        source = write_raster(tmp_path / f"{number}.tif", PIXELS)
        read_window(source, WINDOW)
        read_window(source, WINDOW)
    assert open_count() - before == sources.MAX_OPEN_PER_THREAD
    close_sources()
    assert open_count() == before


def test_threads_share_no_handle(tmp_path: Path) -> None:
    options = {"tiled": True, "blockxsize": 16, "blockysize": 16, "compress": "deflate"}
    source = write_raster(tmp_path / "a.tif", PIXELS, **options)
    wrong: list[int] = []

    def work() -> None:
        for _ in range(30):
            pixels, _ = read_window(source, WINDOW)
            if not np.array_equal(pixels, PIXELS[:, 10:30, 20:45]):
                wrong.append(1)
        close_sources()

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_reading_leaves_no_file_behind(tmp_path: Path) -> None:
    source = write_raster(tmp_path / "a.tif", PIXELS)
    read_window(source, WINDOW)
    read_metadata(source)
    close_sources()
    assert [path.name for path in tmp_path.iterdir()] == ["a.tif"]


def bytes_read() -> int:
    """How many bytes this process has read of files."""
    fields = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    return int(fields["rchar"])


@pytest.mark.parametrize("rows", [16, 256], ids=["strips", "one strip"])
def test_strips_are_shared_between_windows(tmp_path: Path, rows: int) -> None:
    """A strip crosses 16 windows, and is read for the first of them alone."""
    pixels = np.random.default_rng(0).integers(0, 60_000, (1, 256, 1024), np.uint16)
    source = write_raster(tmp_path / "a.tif", pixels, blockysize=rows, compress="deflate")
    before = bytes_read()
    for y in range(0, 256, 64):
        for x in range(0, 1024, 64):
            read, _ = read_window(source, Window(y // 64, x // 64, y, x, y + 64, x + 64))
            np.testing.assert_array_equal(read, pixels[:, y : y + 64, x : x + 64])
    assert bytes_read() - before < 3 * Path(source).stat().st_size


def memory_kib() -> int:
    (line,) = [
        line
        for line in Path("/proc/self/status").read_text().splitlines()
        if line.startswith("VmRSS")
    ]
    return int(line.split()[1])


def test_memory_does_not_grow_with_what_was_read(tmp_path: Path) -> None:
    """24 sources of 3 MB decoded, of which a thread keeps eight open: what is closed is freed."""
    pixels = np.ones((1, 1024, 1536), np.uint16)
    options = {"tiled": True, "blockxsize": 256, "blockysize": 256, "compress": "deflate"}
    first = write_raster(tmp_path / "first.tif", pixels, **options)
    names = [shutil.copy(first, tmp_path / f"{n}.tif") for n in range(24)]
    whole = Window(0, 0, 0, 0, 1024, 1536)
    for name in names[:12]:
        read_window(str(name), whole)
    before = memory_kib()
    for _ in range(2):
        for name in names:
            read_window(str(name), whole)
    assert open_count() <= sources.MAX_OPEN_PER_THREAD
    assert memory_kib() - before < 48 << 10  # 144 MB were read, and 72 decoded but once
    close_sources()

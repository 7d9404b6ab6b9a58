"""What is asked of the bench's web server is counted, and its scenes are what they say."""

import urllib.error
import urllib.request
from pathlib import Path

import numpy as np
import pytest
import rasterio
from hypothesis import given
from hypothesis import strategies as st
from rasterio.enums import MaskFlags

from bench import reading, requests, scene, web
from bench.requests import Asked, Line


@given(st.integers(1, 1000), st.data())
def test_a_range_ends_with_the_file(size: int, data: st.DataObject) -> None:
    first = data.draw(st.integers(0, size - 1))
    last = data.draw(st.integers(first, 2 * size))
    assert web.asked_range(f"bytes={first}-{last}", size) == range(first, min(last + 1, size))
    assert web.asked_range(f"bytes={first}-", size) == range(first, size)
    assert web.asked_range(None, size) == range(size)
    assert not web.asked_range(f"bytes={size}-{size + 5}", size)


def test_every_request_is_counted(tmp_path: Path) -> None:
    file = tmp_path / "a.tif"
    file.write_bytes(bytes(range(100)))
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with web.serving({"a.tif": file}) as site:

        def ask(name: str, wanted: str, method: str = "GET") -> bytes:
            url, headers = f"{site.url}/{name}", {"Range": wanted}
            request = urllib.request.Request(url, headers=headers, method=method)
            with opener.open(request, timeout=60) as answer:
                assert answer.status == 206
                return bytes(answer.read())

        assert ask("a.tif", "bytes=10-19") == bytes(range(10, 20))
        assert ask("a.tif", "bytes=90-") == bytes(range(90, 100))
        assert ask("a.tif", "bytes=0-9", "HEAD") == b""
        for name, wanted in (("b.tif", "bytes=0-1"), ("a.tif", "bytes=100-")):
            with pytest.raises(urllib.error.HTTPError):
                ask(name, wanted)
        assert [one.size_bytes for one in site.asked] == [10, 10, 0, 0, 0]
        assert site.size_bytes == 20
        site.forget()
        assert site.asked == []


def test_every_read_is_one_that_the_reader_knows() -> None:
    assert tuple(reading.READS) == requests.READS


def test_ours_stands_beside_gdals() -> None:
    line = Line("defaults", "opening", Asked(3, 2_000_000), Asked(2, 1_000_000))
    *_, row = requests.report(requests.options_of([]), [line])
    assert row == "| defaults | opening | 3 | 2 | 1.50 | 2.00 | 1.00 | 2.00 |"


def test_a_masked_scene_is_read_with_its_mask(tmp_path: Path) -> None:
    shape, *_ = requests.report(requests.options_of(["--mask"]), [])
    assert "uint16, read with its mask, windows" in shape
    with pytest.raises(SystemExit):
        requests.options_of(["--mask", "--scene", "landsat"])
    file = tmp_path / "scene.tif"
    scene.make(str(file), 700, 2, "uint16", 1, mask=True)
    with rasterio.open(file) as dataset:
        mask = dataset.read_masks(1)
        read = dataset.read(masked=True)
        assert all(flags == [MaskFlags.per_dataset] for flags in dataset.mask_flag_enums)
    assert not list(tmp_path.glob("*.msk"))
    assert (mask[:500] == scene.swath(0, 500, 700)).all()
    assert set(np.unique(mask)) == {0, 255}
    assert 0.7 < (mask > 0).mean() < 0.8
    assert (read.data[:, mask == 0] == 0).all()
    assert read.mask[:, mask == 0].all()


def test_a_band_is_repeated_and_mirrored_and_no_two_are_the_same() -> None:
    pixels = np.arange(400 * 600).reshape(400, 600)
    made = scene.mirrored(pixels, 3, 1300)
    assert made.shape == (3, 1300, 1300)
    assert (made[0, :400, :600] == pixels).all()
    assert (made[0, 400:800, :600] == pixels[::-1]).all()
    assert (made[0, :400, 600:1200] == pixels[:, ::-1]).all()
    assert (made[0, 800:1200, :600] == pixels).all()
    assert (made[1, 0, :23] == pixels[331, 577:]).all()
    assert not (made[1] == made[2]).all()

"""The choice between ISA-L and libdeflate, and that every reader reads both."""

import zlib
from functools import partial
from typing import Any

import imagecodecs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scenemosaic.tiff import deflate
from scenemosaic.tiff.codec import BlockCoding, encode_blocks


def _noise() -> np.ndarray[tuple[int, ...], np.dtype[np.uint16]]:
    rng = np.random.default_rng(0)
    return (3000 + rng.normal(0, 60, (1, 512, 512))).astype(np.uint16)


def _smooth() -> np.ndarray[tuple[int, ...], np.dtype[np.uint16]]:
    y, x = np.mgrid[0:512, 0:512]
    return ((x * y) // 64)[np.newaxis].astype(np.uint16)


def _coding(level: int | None, effort: str = "balanced", compress: str = "deflate") -> BlockCoding:
    return BlockCoding(256, compress, level, 2, "pixel", 0, effort)


def _by_libdeflate(pixels: Any, level: int) -> list[bytes | None]:
    return encode_blocks(pixels, _coding(level), lambda _, at, __: deflate.libdeflate(at or 0))


def _size(pixels: np.ndarray[tuple[int, ...], np.dtype[np.uint16]], coding: BlockCoding) -> int:
    return sum(map(len, filter(None, encode_blocks(pixels, coding))))


def test_noise_takes_isal_and_no_more_bytes() -> None:
    auto, small = encode_blocks(_noise(), _coding(None)), _by_libdeflate(_noise(), 6)
    assert deflate.chosen(_noise) is deflate.FASTEST
    assert sum(map(len, filter(None, auto))) <= 1.02 * sum(map(len, filter(None, small)))
    assert auto != small


def test_the_cheapest_way_that_makes_few_enough_bytes_is_chosen() -> None:
    slopes, rng, made = _smooth(), np.random.default_rng(0), []
    for spread in np.geomspace(0.5, 60, 12):  # from smooth to noise
        pixels = (slopes + rng.normal(0, spread, slopes.shape)).astype(np.uint16)
        pixels[..., 1:] -= pixels[..., :-1].copy()
        made.append(deflate.chosen(partial(np.copy, pixels)))
        most_bytes = 1.02 * len(deflate.libdeflate(6)(pixels))
        few = [one for one in deflate.CHEAP if len(one(pixels)) <= most_bytes]
        assert made[-1].name == (few[0].name if few else "libdeflate 6")
    assert made[0] not in deflate.CHEAP
    assert made[-1] is deflate.FASTEST


def test_smooth_pixels_take_libdeflate() -> None:
    assert encode_blocks(_smooth(), _coding(None)) == _by_libdeflate(_smooth(), 6)
    assert encode_blocks(_smooth(), _coding(9)) == _by_libdeflate(_smooth(), 9)


@pytest.mark.parametrize("compress", ["deflate", "zstd"])
def test_more_effort_makes_fewer_bytes(compress: str) -> None:
    efforts = ("fast", "balanced", "small")
    fast, balanced, small = (_size(_smooth(), _coding(None, one, compress)) for one in efforts)
    assert fast > balanced > small


def test_the_small_effort_is_never_larger() -> None:
    for pixels in (_noise(), _smooth()):
        efforts = ("fast", "balanced", "small")
        sizes = {one: _size(pixels, _coding(None, one)) for one in efforts}
        assert min(sizes.values()) == sizes["small"]


def test_the_fast_effort_never_looks_at_the_pixels() -> None:
    fast = encode_blocks(_smooth(), _coding(None, "fast"))
    assert fast != encode_blocks(_smooth(), _coding(None))
    assert encode_blocks(_noise(), _coding(None, "fast")) == encode_blocks(_noise(), _coding(None))


def test_a_level_that_is_asked_for_is_kept() -> None:
    one, nine = (_size(_smooth(), _coding(level)) for level in (1, 9))
    assert one > nine


@pytest.mark.parametrize("level", [1, 6, 9, 12])
@pytest.mark.parametrize("pixels", [_noise(), _smooth()], ids=["noise", "smooth"])
def test_a_level_makes_no_more_bytes_than_libdeflate_at_it(pixels: Any, level: int) -> None:
    most_bytes = sum(len(block or b"") for block in _by_libdeflate(pixels, level))
    assert _size(pixels, _coding(level)) <= most_bytes


@settings(max_examples=30)
@given(st.integers(1, 12), st.integers(1, 3000), st.integers(0, 99))
def test_no_sample_makes_more_bytes_than_its_level(level: int, spread: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    sample = (rng.normal(0, spread, (64, 64)) + 8000).astype(np.uint16)
    made = deflate.chosen(lambda: sample, level)(sample)
    assert len(made) <= len(imagecodecs.deflate_encode(sample.tobytes(), level))
    assert zlib.decompress(made) == sample.tobytes()


def test_noise_takes_a_cheaper_way_at_a_high_level() -> None:
    assert deflate.chosen(_noise, 9) in deflate.CHEAP


@given(st.binary(min_size=1, max_size=5000))
def test_zlib_reads_both(data: bytes) -> None:
    for one in (*deflate.CHEAP, deflate.libdeflate(6)):
        assert zlib.decompress(one(data)) == data
    assert zlib.decompress(deflate.chosen(lambda: data)(data)) == data


@pytest.mark.parametrize("bands", [1, 3])
def test_the_choice_does_not_change_pixels(bands: int) -> None:
    pixels = np.concatenate([_noise()] * bands)
    for level in (None, 6):
        blocks = encode_blocks(pixels, _coding(level))
        first = np.frombuffer(zlib.decompress(blocks[0] or b""), np.uint16)
        rows = first.reshape(256, 256, bands)
        assert np.array_equal(
            np.cumsum(rows, axis=1, dtype=np.uint16)[..., 0], pixels[0, :256, :256]
        )


def test_a_tile_keeps_its_first_choice() -> None:
    choice = deflate.FirstChoice()
    assert choice(_noise, None, "balanced") is deflate.FASTEST
    assert choice(_smooth, None, "balanced") is deflate.FASTEST
    assert choice.names == ("isa-l 1",)
    assert deflate.chosen(_smooth) not in deflate.CHEAP
    assert deflate.unless_asked(_smooth, None, "balanced") is deflate.FASTEST
    asked = deflate.unless_asked(_noise, 9, "balanced")(_noise())
    assert asked == deflate.libdeflate(9)(_noise())

"""Previews: small, deterministic, honest about what is no data; no image breaks them."""

from typing import Any

import imagecodecs
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from scenemosaic.mosaic.preview import Look, look_of, preview_png, render
from scenemosaic.tiff import ifd
from scenemosaic.tiff.ifd import Tag
from scenemosaic.tiff.layout import Template

PLAIN = Look()
Array = npt.NDArray[Any]


def picture(
    pixels: Array, mask: Array | None = None, nodata: float | None = None, look: Look = PLAIN
) -> Array:
    return rgba(render(pixels, mask, nodata, look))


def rgba(png: bytes) -> Array:
    """A PNG's pixels; alpha is 255 where it has none."""
    decoded: Array = imagecodecs.png_decode(png)
    opaque = np.full((*decoded.shape[:2], 4 - decoded.shape[2]), 255, np.uint8)
    return np.concatenate([decoded, opaque], axis=2)


def ramp(dtype: str = "uint16", bands: int = 1) -> Array:
    return np.stack([np.arange(100).reshape(10, 10) + b for b in range(bands)]).astype(dtype)


def test_one_band_is_grey_and_three_are_colours() -> None:
    grey = picture(ramp())
    assert grey.shape == (10, 10, 4)
    assert (grey[..., 0] == grey[..., 1]).all()
    assert grey[0, 0, 0] == 0
    assert grey[9, 9, 0] == 255
    pixels = ramp(bands=5)
    pixels[1] = pixels[1][::-1]
    colours = picture(pixels)
    assert (colours[..., 0] == colours[::-1, :, 1]).all() or colours[0, 0, 1] > colours[9, 0, 1]


def test_two_percent_at_each_end_are_cut() -> None:
    pixels = ramp("float32")
    pixels[0, 0, 0], pixels[0, 9, 9] = -1e30, 1e30
    assert len(np.unique(picture(pixels)[..., 0])) > 80


@pytest.mark.parametrize(
    ("height", "width"), [(5000, 30), (1025, 1025), (1024, 3), (1, 1), (1, 9999)]
)
def test_sides_are_bounded(height: int, width: int) -> None:
    result = picture(np.ones((1, height, width), "uint8"))
    assert max(result.shape[:2]) <= 1024
    assert min(result.shape[:2]) >= 1


def test_hidden_pixels_are_transparent() -> None:
    mask = np.full((10, 10), 255, np.uint8)
    mask[3, 4] = 0
    result = picture(ramp(), mask)
    assert result[3, 4, 3] == 0
    assert (result[..., 3] == 255).sum() == 99
    result = picture(ramp(bands=3), nodata=5)
    assert (result[..., 3] == 255).all()  # never in all three bands at once
    result = picture(ramp(), nodata=5)
    assert result[0, 5, 3] == 0
    assert (result[..., 3] == 255).sum() == 99


def test_nan_nodata_is_transparent() -> None:
    pixels = ramp("float32")
    pixels[0, 2, 2] = np.nan
    result = picture(pixels, nodata=float("nan"))
    assert result[2, 2, 3] == 0
    assert (result[..., 3] == 255).sum() == 99


def test_alpha_is_transparency_and_no_colour() -> None:
    pixels = ramp("uint8", bands=4)
    pixels[3] = 77
    result = picture(pixels, look=Look(alpha=4))
    assert (result[..., 3] == 77).all()
    pixels = ramp("uint8", bands=2)
    assert picture(pixels, look=Look(alpha=2)).shape == (10, 10, 4)


def template(tags: dict[int, Tag]) -> Template:
    return Template({ifd.SAMPLES_PER_PIXEL: Tag.of(ifd.SHORT, [1])} | tags, None)


def test_palettes_are_honoured() -> None:
    reds, greens, blues = [0, 65535], [0, 257], [0, 0]
    colours = [*reds, *[0] * 254, *greens, *[0] * 254, *blues, *[0] * 254]
    made = template({320: Tag.of(ifd.SHORT, colours)})
    pixels = np.array([[[0, 1, 9]]], "uint8")
    result = rgba(preview_png(pixels, None, 9, made))
    assert result[0, 1].tolist() == [255, 1, 0, 255]
    assert result[0, 0].tolist() == [0, 0, 0, 255]
    assert result[0, 2].tolist() == [0, 0, 0, 0]
    assert look_of(template({})) == Look()


def test_a_value_outside_the_palette_is_transparent_black() -> None:
    pixels = np.array([[[0, 300]]], "uint16")
    result = picture(pixels, look=Look(palette={0: (1, 2, 3, 255)}))
    assert result[0].tolist() == [[1, 2, 3, 255], [0, 0, 0, 0]]


def test_the_bytes_are_always_the_same() -> None:
    assert render(ramp(), None, None, PLAIN) == render(ramp(), None, None, PLAIN)


_DTYPES = ["uint8", "int8", "uint16", "int64", "uint64", "float32", "float64", "complex64"]


@pytest.mark.parametrize("dtype", _DTYPES)
@pytest.mark.parametrize("nodata", [None, 0])
def test_constant_images(dtype: str, nodata: int | None) -> None:
    for value in (0, 1):
        result = picture(np.full((3, 4, 4), value, dtype), nodata=nodata)
        assert (result[..., 3] == (0 if value == nodata else 255)).all()


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_images_of_nothing(value: float) -> None:
    result = picture(np.full((1, 4, 4), value, "float64"))
    assert not result.any()
    assert not picture(ramp(), np.zeros((10, 10), np.uint8)).any()


@given(
    hnp.arrays(
        st.sampled_from([np.dtype(name) for name in _DTYPES]),
        st.tuples(st.integers(1, 5), st.integers(1, 6), st.integers(1, 6)),
    ),
    st.none() | st.floats(width=32) | st.integers(0, 127),
)
def test_no_image_breaks_it(pixels: Array, nodata: float | None) -> None:
    if pixels.dtype.kind in "iu" and nodata is not None:
        nodata = int(nodata) % 128 if np.isfinite(nodata) else None
    result = picture(pixels, nodata=nodata)
    assert result.shape == (*pixels.shape[1:], 4)

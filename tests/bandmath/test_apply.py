"""Pixels of band maths: those of plain numpy, wherever a strip or a window ends."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from scenemosaic.bandmath import apply as applying
from scenemosaic.bandmath.apply import apply
from scenemosaic.bandmath.computed import Computed, canonical
from scenemosaic.bandmath.program import Program, SourceBands, Target
from scenemosaic.errors import ComputationError

Pixels = npt.NDArray[Any]
TYPES = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "float32", "float64"]


def program(
    computed: Computed,
    target: Target,
    nodata: float | None = None,
    bands: int = 3,
    alpha: int | None = None,
    scale: tuple[float, float] = (1.0, 0.0),
) -> Program:
    factors, offsets = (scale[0],) * bands, (scale[1],) * bands
    return Program(computed, SourceBands(nodata, factors, offsets, alpha), target)


def expressed(text: str, **given: Any) -> Computed:
    return Computed(expressions=canonical(text), **given)


def made(work: Program, pixels: Pixels) -> Pixels:
    return apply(work, pixels[[band - 1 for band in work.read()]], None)[0]


@st.composite
def images(draw: st.DrawFn) -> Pixels:
    dtype = np.dtype(draw(st.sampled_from(TYPES)))
    shape = (3, draw(st.integers(1, 9)), draw(st.integers(1, 9)))
    elements = hnp.from_dtype(dtype, allow_subnormal=False)
    return draw(hnp.arrays(dtype, shape, elements=elements | st.just(dtype.type(0))))


@given(images(), st.integers(1, 30))
def test_it_is_plain_numpy_in_doubles(pixels: Pixels, strip_px: int) -> None:
    work = program(
        expressed("(b3-b1)/(b3+b1); where(b2 > 3, sqrt(b1), b2*2); min(b1,b2,b3)**3"),
        Target("float64", math.nan),
        nodata=0,
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(applying, "STRIP_PX", strip_px)
        got = made(work, pixels)
    b1, b2, b3 = pixels.astype("float64")
    with np.errstate(all="ignore"):
        least = np.minimum(np.minimum(b1, b2), b3)
        plain = [
            (b3 - b1) / (b3 + b1),
            np.where(b2 > 3, np.sqrt(b1), b2 * 2),
            least * least * least,
        ]
    for band, named, values in zip(got, [(b1, b3), (b1, b2), (b1, b2, b3)], plain, strict=True):
        known = np.logical_and.reduce([(one != 0) & ~np.isnan(one) for one in named])
        expected = np.where(known & np.isfinite(values), values, np.nan)
        np.testing.assert_allclose(band, expected, rtol=1e-15)


@given(images(), st.integers(0, 8), st.integers(0, 8))
def test_windows_decide_nothing(pixels: Pixels, top: int, left: int) -> None:
    work = program(expressed("log(b1) / b2, b3 ** 2 - b1"), Target("float32", -9999.0), nodata=1)
    with np.errstate(over="ignore"):
        try:
            whole = made(work, pixels)
        except ComputationError:  # more than a float32 holds
            return
    part = pixels[:, top:, left:]
    if part.size:
        np.testing.assert_array_equal(made(work, part), whole[:, top:, left:])


@given(images(), st.permutations([1, 2, 3]), st.integers(1, 3))
def test_selection_copies(pixels: Pixels, order: list[int], count: int) -> None:
    bands = tuple(order[:count])
    work = program(Computed(bands=bands), Target(str(pixels.dtype), 0), nodata=0)
    expected = pixels[[band - 1 for band in bands]]
    np.testing.assert_array_equal(made(work, pixels), expected)
    assert made(work, pixels).dtype == pixels.dtype


@given(images(), st.sampled_from(TYPES))
def test_a_cast_keeps_values_or_is_refused(pixels: Pixels, dtype: str) -> None:
    """Nothing wraps: each pixel is the nearest value of the type, or the window fails."""
    work = program(Computed(bands=(1,)), Target(dtype, None))
    values = pixels[0].astype("float64")
    if np.dtype(dtype).kind == "f":
        with np.errstate(over="ignore"):
            nearest = values.astype(dtype)
        fits = not (np.isinf(nearest) & np.isfinite(values)).any()
    else:
        info, nearest = np.iinfo(dtype), np.rint(values)
        fits = bool(((nearest >= info.min) & (nearest <= info.max)).all())
    if fits or pixels.dtype == dtype:
        np.testing.assert_array_equal(made(work, pixels)[0], nearest)
    else:
        with pytest.raises(ComputationError, match="band 1: "):
            made(work, pixels)


def one(text: str, *values: float, dtype: str = "float32", nodata: float | None = math.nan) -> Any:
    """The result of an expression over one pixel whose bands have these values."""
    pixels = np.array(values, "float64").reshape(-1, 1, 1)
    return made(program(expressed(text), Target(dtype, nodata), 7.0, len(values)), pixels)[0, 0, 0]


def test_what_has_no_value() -> None:
    assert math.isnan(one("b1 / b2", 1, 0))  # a division by zero
    assert math.isnan(one("b1 / b2", 0, 0))
    assert math.isnan(one("sqrt(b1)", -1))
    assert math.isnan(one("log(b1)", 0))
    assert math.isnan(one("b1 ** 64", 1e300))  # overflow
    assert math.isnan(one("b1 + b2", 1, 7))  # a band is nodata
    assert math.isnan(one("where(b1 > 0, 1, 2)", math.nan))
    assert math.isnan(one("where(b1 > 0, nan, 2)", 1))  # said by the user
    assert one("where(b1 > 0, 1, 2)", math.inf) == 1
    assert one("where(b2 == 0, 5, b1 / b2)", 1, 0) == 5
    assert one("b1", 3, 7) == 3  # the other band is not named
    assert one("b1 / b2", 1, 0, dtype="int16", nodata=-1) == -1


def test_unsigned_bands_do_not_wrap() -> None:
    pixels = np.array([10, 200, 250], "uint8").reshape(3, 1, 1)
    work = program(expressed("b1 - b2, b2 + b3"), Target("float32", math.nan))
    assert made(work, pixels).ravel().tolist() == [-190.0, 450.0]


def test_scale_and_offset() -> None:
    pixels = np.array([1000, 3000, 0], "uint16").reshape(3, 1, 1)
    scale = (0.0001, -0.1)
    target = Target("float64", math.nan)
    given = program(Computed(bands=(1, 3), unscale=True), target, 0, scale=scale)
    assert made(given, pixels)[0, 0, 0] == 1000 * 0.0001 - 0.1
    assert math.isnan(made(given, pixels)[1, 0, 0])
    ratio = program(expressed("(b2-b1)/(b2+b1)", unscale=True), target, 0, scale=scale)
    red, nir = 1000 * 0.0001 - 0.1, 3000 * 0.0001 - 0.1
    assert made(ratio, pixels)[0, 0, 0] == (nir - red) / (nir + red)


def test_integers_are_rounded_half_to_even() -> None:
    pixels = np.array([0.5, 1.5, -0.51, 254.5], "float64").reshape(1, 1, 4)
    work = program(Computed(bands=(1,)), Target("int16", None), bands=1)
    assert made(work, pixels).ravel().tolist() == [0, 2, -1, 254]


@pytest.mark.parametrize(
    ("text", "dtype", "nodata", "said"),
    [
        ("b1 * 1", "uint8", 0, "the value 300 is not one of uint8 (0..255)"),
        ("b1 - 301", "uint8", 0, "the value -1 is not one of uint8"),
        ("b1 * 1e37", "float32", math.nan, "the value 3e+39 is not one of float32"),
        ("b1 / 0", "int16", None, "give --nodata"),
        ("b1 - 300", "int16", 0, "the value 0 is both nodata and a result"),
    ],
)
def test_it_is_refused(text: str, dtype: str, nodata: float | None, said: str) -> None:
    with pytest.raises(ComputationError) as caught:
        one(text, 300, dtype=dtype, nodata=nodata)
    assert said in str(caught.value)
    assert str(caught.value).startswith("band 1: ")


def test_64_bit_integers_are_exact() -> None:
    pixels = np.array([2**63 - 1, 2**53 + 1], "int64").reshape(1, 1, 2)
    work = program(Computed(bands=(1,)), Target("uint64", None), bands=1)
    assert made(work, pixels).ravel().tolist() == [2**63 - 1, 2**53 + 1]
    back = program(Computed(bands=(1,)), Target("int64", None), bands=1)
    with pytest.raises(ComputationError, match="int64"):
        made(back, np.array([2**63], "uint64").reshape(1, 1, 1))


def test_nodata_is_declared_or_changed() -> None:
    pixels = np.array([0, 5, 255], "uint8").reshape(1, 1, 3)
    declared = program(Computed(bands=(1,)), Target("uint8", 0), None, 1)
    assert made(declared, pixels).ravel().tolist() == [0, 5, 255]
    changed = program(Computed(bands=(1,)), Target("uint8", 7), 0, 1)
    assert made(changed, pixels).ravel().tolist() == [7, 5, 255]
    wider = program(Computed(bands=(1,)), Target("int16", -1), 255, 1)
    assert made(wider, pixels).ravel().tolist() == [0, 5, -1]
    taken = program(Computed(bands=(1,)), Target("uint8", 5), 0, 1)
    with pytest.raises(ComputationError, match="both nodata and a result"):
        made(taken, pixels)


def test_floats_that_are_no_numbers_stay_where_nothing_is_computed() -> None:
    pixels = np.array([math.nan, math.inf, 1.0], "float64").reshape(1, 1, 3)
    work = program(Computed(bands=(1,)), Target("float32", None), None, 1)
    np.testing.assert_array_equal(made(work, pixels), pixels.astype("float32"))
    whole = program(Computed(bands=(1,)), Target("int16", None), None, 1)
    with pytest.raises(ComputationError, match="inf is not one of int16"):
        made(whole, pixels)
    with pytest.raises(ComputationError, match="give --nodata"):
        made(whole, pixels[..., :1])


def test_masked_and_transparent_pixels_have_no_value() -> None:
    pixels = np.array([[1, 2, 0], [4, 5, 6], [0, 9, 9]], "uint8").reshape(3, 1, 3)
    mask = np.array([[255, 0, 255]], "uint8")
    work = program(expressed("b2 / b1"), Target("float32", None, has_mask=True))
    values, shown = apply(work, pixels[:2], mask)
    assert values.ravel().tolist() == [4.0, 0.0, 0.0]
    assert shown is not None
    assert shown.ravel().tolist() == [255, 0, 0]
    assert mask.ravel().tolist() == [255, 0, 255]  # the reader's own is not touched
    clear = program(expressed("b1 + b2"), Target("int16", -1), alpha=3)
    assert clear.read() == (1, 2, 3)
    assert made(clear, pixels).ravel().tolist() == [-1, 7, 6]
    for own in (None, 255):  # also where the source has the same nodata
        alone = program(Computed(bands=(2,)), Target("uint8", 255), own, alpha=3)
        assert made(alone, pixels).ravel().tolist() == [255, 5, 6]
    kept = program(Computed(bands=(2, 3)), Target("uint8", None), alpha=3)
    np.testing.assert_array_equal(made(kept, pixels), pixels[1:])


def test_a_selection_keeps_what_lies_under_the_mask() -> None:
    pixels = np.array([[[1, 2]], [[3, 4]]], "uint8")
    mask = np.array([[255, 0]], "uint8")
    work = program(Computed(bands=(2, 1)), Target("uint8", None, has_mask=True))
    values, shown = apply(work, pixels, mask)
    np.testing.assert_array_equal(values, pixels[::-1])
    np.testing.assert_array_equal(shown, mask)

"""Plan, recipe, job ID: canonical, exact, self-proving."""

import hashlib
import json
import math
import pickle
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rasterio.crs import CRS

from scenemosaic.canonical import decode, encode, read_number, spell_number
from scenemosaic.dtypes import ITEM_SIZES, integer_range, is_complex, is_integer
from scenemosaic.errors import InputError
from scenemosaic.grids.crs_text import normal_wkt, wkt_of
from scenemosaic.grids.grid import Grid
from scenemosaic.plans.pin import Pin
from scenemosaic.plans.plan import Plan, job_id_of, load_plan, utc_datetime
from scenemosaic.recipes.recipe import Recipe
from scenemosaic.recipes.recipe_rules import PUT_MAX_BYTES, default_predictor

UTM = wkt_of("EPSG:32631")
GRID = Grid(UTM, (10.0, 0.0, 5e5, 0.0, -10.0, 4e6), 5000, 4000)
RECIPE = Recipe(GRID, "uint16", 3, 0, False, 2048, predictor=2)
LOCAL = Pin(None, "a" * 64, None, None, 1234)
PLAN = Plan((LOCAL,), RECIPE)

finite = st.floats(allow_nan=False, allow_infinity=False)


@st.composite
def recipes(draw: st.DrawFn) -> Recipe:
    dtype = draw(st.sampled_from(sorted(ITEM_SIZES)))
    compress = draw(st.sampled_from(["deflate", "zstd", "lzw", "none"]))
    a, e = draw(finite.filter(bool)), draw(finite.filter(bool))
    c, f = draw(finite), draw(finite)
    transform = (a, 0.0, c, 0.0, e, f)
    size = st.integers(1, 100_000)
    block = draw(st.sampled_from([128, 256, 512]))
    return Recipe(
        grid=Grid(UTM, transform, draw(size), draw(size)) if a * e else GRID,
        dtype=dtype,
        bands=draw(st.integers(1, 40)),
        nodata=draw(st.none() | nodata_of(dtype)),
        has_mask=draw(st.booleans()),
        window_size=block * draw(st.sampled_from([1, 2, 4])),
        block_size=block,
        compress=compress,
        level=draw(st.none() | st.integers(1, 12)) if compress in ("deflate", "zstd") else None,
        predictor=default_predictor(compress, dtype),
        interleave=draw(st.sampled_from(["pixel", "band"])),
        resampling="nearest" if is_complex(dtype) else draw(st.sampled_from(["average", "mode"])),
    )


def nodata_of(dtype: str) -> st.SearchStrategy[int | float]:
    if is_integer(dtype):
        return st.integers(*integer_range(dtype))
    return st.floats(width=32 if dtype in ("float32", "complex64") else 64)


@given(recipes(), st.sampled_from([None, "2024-05-01T00:00:00Z"]))
def test_a_plan_comes_back_from_its_own_bytes(recipe: Recipe, when: str | None) -> None:
    plan = Plan((LOCAL,), recipe, when, "unknown" if when is None else "option")
    loaded = load_plan(plan.canonical, plan.job_id)
    assert loaded == plan
    assert loaded.canonical == plan.canonical
    assert pickle.loads(pickle.dumps(plan)) == plan
    assert repr(loaded.recipe.nodata) == repr(recipe.nodata)
    assert loaded.recipe.grid.transform == recipe.grid.transform


def test_the_job_id_is_the_hash_of_exactly_these_bytes() -> None:
    assert PLAN.job_id == hashlib.sha256(PLAN.canonical).hexdigest()[:32]
    assert PLAN.canonical == (
        b'{"recipe":{"bands":3,"dtype":"uint16","grid":{"crs":"EPSG:32631","height":4000,'
        b'"transform":[10.0,0.0,500000.0,0.0,-10.0,4000000.0],"width":5000},"nodata":0,'
        b'"predictor":2,"window_size":2048},"sources":[{"sha256":"' + b"a" * 64 + b'",'
        b'"size_bytes":1234}]}'
    )


def test_a_plan_is_small() -> None:
    assert len(pickle.dumps(PLAN)) < 4096


def test_whatever_decides_pixels_changes_the_job_id() -> None:
    others = [
        replace(PLAN, recipe=replace(RECIPE, window_size=1024)),
        replace(PLAN, recipe=replace(RECIPE, nodata=1)),
        replace(PLAN, recipe=replace(RECIPE, has_mask=True)),
        replace(PLAN, recipe=replace(RECIPE, level=9)),
        replace(PLAN, sources=(replace(LOCAL, sha256="b" * 64),)),
        replace(PLAN, datetime="2024-05-01T00:00:00Z", datetime_source="option"),
        replace(PLAN, collection="c"),
    ]
    assert len({plan.job_id for plan in [PLAN, *others]}) == len(others) + 1


def test_nan_nodata_is_equal_to_itself() -> None:
    left = replace(RECIPE, dtype="float32", predictor=3, nodata=float("nan"))
    right = replace(RECIPE, dtype="float32", predictor=3, nodata=float("-nan"))
    assert left == right
    assert hash(left) == hash(right)


def test_sixty_four_bit_nodata_is_exact() -> None:
    for dtype, nodata in (("int64", -(2**63)), ("uint64", 2**64 - 1), ("int64", 2**53 + 1)):
        plan = Plan((LOCAL,), replace(RECIPE, dtype=dtype, nodata=nodata))
        assert load_plan(plan.canonical, plan.job_id).recipe.nodata == nodata


def test_a_crs_without_a_code_is_kept_as_wkt() -> None:
    crs = CRS.from_proj4("+proj=laea +lat_0=1 +lon_0=2 +ellps=GRS80 +units=m")
    plan = Plan((LOCAL,), replace(RECIPE, grid=replace(GRID, crs_wkt=normal_wkt(crs))))
    assert b"Lambert_Azimuthal" in plan.canonical
    assert load_plan(plan.canonical, plan.job_id) == plan


def test_two_spellings_of_a_crs_are_one() -> None:
    wkt2 = CRS.from_epsg(32631).to_wkt(version="WKT2_2019")
    assert wkt2 != UTM
    assert normal_wkt(CRS.from_wkt(wkt2)) == UTM


def test_damaged_plans_are_refused() -> None:
    data = PLAN.canonical
    with pytest.raises(InputError, match="damaged"):
        load_plan(data.replace(b"5000", b"5001"), PLAN.job_id)
    with pytest.raises(InputError, match="32 hex"):
        load_plan(data, "abc")
    with pytest.raises(InputError, match="not canonical"):
        load_plan(data + b"\n", job_id_of(data + b"\n"))


_BAD: list[tuple[str, dict[str, Any]]] = [
    ("recipe.window_size", {"recipe": {"window_size": "2048"}}),
    ("recipe.bands", {"recipe": {"bands": True}}),
    ("recipe.bands", {"recipe": {"bands": 2.0}}),
    ("recipe.nodata", {"recipe": {"nodata": "none"}}),
    ("nodata 70000", {"recipe": {"nodata": 70000}}),
    ("nodata 0.5", {"recipe": {"nodata": 0.5}}),
    ("unknown fields: zoom", {"recipe": {"zoom": 3}}),
    ("unknown fields: host", {"host": "me"}),
    ("dtype must be", {"recipe": {"dtype": "float16"}}),
    ("compress must be", {"recipe": {"compress": "brotli"}}),
    ("predictor for", {"recipe": {"predictor": 3}}),
    ("resampling must be", {"recipe": {"resampling": "sinc"}}),
    ("encoding_version", {"recipe": {"encoding_version": 5}}),
    ("level of deflate", {"recipe": {"level": 13}}),
    ("bands must be", {"recipe": {"bands": 10**9}}),
    ("block size", {"recipe": {"block_size": 500}}),
    ("multiple of the block size", {"recipe": {"window_size": 1000}}),
    ("choose a smaller window", {"recipe": {"window_size": 1 << 20, "bands": 60000}}),
    ("at least one source", {"sources": []}),
    ("plan.sources must be list", {"sources": {}}),
    ("sources[0]", {"sources": [{"sha256": "a" * 64, "size_bytes": 1, "path": "/x"}]}),
    ("sha256", {"sources": [{"sha256": "A" * 64, "size_bytes": 1}]}),
    ("pin.uri", {"sources": [{"uri": "https://u:p@h/x", "etag": "e", "size_bytes": 1}]}),
    ("pin.uri", {"sources": [{"uri": "https://h/x?sig=1", "etag": "e", "size_bytes": 1}]}),
    ("pin.uri", {"sources": [{"uri": "file:///etc/x", "etag": "e", "size_bytes": 1}]}),
    ("size_bytes", {"sources": [{"sha256": "a" * 64, "size_bytes": 0}]}),
    ("not a date", {"datetime": "yesterday", "datetime_source": "option"}),
    ("collection", {"collection": "a/b"}),
]


@pytest.mark.parametrize(
    ("words", "change"), _BAD, ids=[f"{i}-{w}" for i, (w, _) in enumerate(_BAD)]
)
def test_every_bad_value_is_refused_by_name(words: str, change: dict[str, Any]) -> None:
    value = json.loads(PLAN.canonical)
    recipe = value["recipe"] | change.get("recipe", {})
    data = encode(value | change | {"recipe": recipe})
    with pytest.raises(InputError) as caught:
        load_plan(data, job_id_of(data))
    assert words in str(caught.value)


_BAD_GRIDS = [
    ("finite floats", {"transform": [1.0, 0.0, 0.0, 0.0, -1.0]}),
    ("finite floats", {"transform": [1, 0, 0, 0, -1, 0]}),
    ("no area", {"transform": [0.0, 0.0, 0.0, 0.0, -1.0, 0.0]}),
    ("at least one pixel", {"width": 0}),
    ("too large", {"width": 1 << 40}),
    ("too many", {"width": 1 << 30, "height": 1 << 30}),
    ("not a CRS", {"crs": "EPSG:0"}),
    ("unknown fields", {"zone": 31}),
]


@pytest.mark.parametrize(("words", "change"), _BAD_GRIDS)
def test_every_bad_grid_is_refused_by_name(words: str, change: dict[str, Any]) -> None:
    value = json.loads(PLAN.canonical)
    value["recipe"]["grid"] |= change
    data = encode(value)
    with pytest.raises(InputError, match=words):
        load_plan(data, job_id_of(data))


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=8))
def test_arbitrary_json_is_refused_and_never_crashes(value: object) -> None:
    try:
        data = encode(value)
    except InputError:
        return
    with pytest.raises(InputError):
        load_plan(data, job_id_of(data))


@given(st.binary(max_size=60))
def test_arbitrary_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(InputError):
        load_plan(data, job_id_of(data))


def test_deep_json_is_refused() -> None:
    with pytest.raises(InputError):
        decode(b"[" * 100_000, "x")


@given(st.integers() | st.floats())
def test_numbers_are_exact(value: float) -> None:
    back = read_number(json.loads(encode(spell_number(value))), "x")
    assert repr(back) == repr(abs(value) if math.isnan(value) else value)


def test_codecs_take_what_they_can_hold() -> None:
    byte = replace(RECIPE, dtype="uint8", nodata=None)
    replace(byte, compress="jpeg", predictor=1)
    replace(byte, compress="webp", predictor=1, level=90)
    refused: list[dict[str, Any]] = [
        {"compress": "jpeg", "predictor": 1, "nodata": 0},
        {"compress": "jpeg", "predictor": 2},
        {"compress": "jpeg", "predictor": 1, "dtype": "uint16"},
        {"compress": "jpeg", "predictor": 1, "bands": 5},
        {"compress": "webp", "predictor": 1, "bands": 1},
        {"compress": "webp", "predictor": 1, "interleave": "band"},
        {"compress": "lerc", "predictor": 1, "dtype": "int64"},
        {"compress": "lerc", "predictor": 1, "level": 1},
        {"dtype": "complex64", "predictor": 1, "resampling": "average"},
        {"dtype": "int8", "predictor": 1, "nbits": 4},
        {"dtype": "uint16", "predictor": 1, "nbits": 8},
        {"dtype": "uint8", "predictor": 2, "nbits": 4},
        {"dtype": "uint8", "predictor": 1, "compress": "jpeg", "nbits": 4},
        {"predictor": 1, "compress": "jpeg", "photometric": "rgb"},
        {"photometric": "ycbcr"},
        {"effort": "small", "level": 6},
        {"effort": "fast", "compress": "lzw"},
        {"dtype": "float32", "nodata": 1},
        {"dtype": "float32", "nodata": 1e300},
    ]
    for change in refused:
        with pytest.raises(InputError):
            replace(byte, **change)


def test_a_tile_fits_in_one_request() -> None:
    assert RECIPE.worst_tile_bytes() > 2048 * 2048 * 6 * 4 / 3
    with pytest.raises(InputError, match="smaller window"):
        replace(RECIPE, window_size=32768, bands=1000)
    assert PUT_MAX_BYTES < 5 << 30


def test_times_are_utc() -> None:
    assert utc_datetime("2024-05-01") == "2024-05-01T12:00:00Z", "of a day, noon"
    assert utc_datetime("2024-05-01T00:00") == "2024-05-01T00:00:00Z"
    assert utc_datetime("2024-05-01T12:00:00+02:00") == "2024-05-01T10:00:00Z"
    assert utc_datetime("2024-05-01T12:00:00.5Z") == "2024-05-01T12:00:00.500000Z"
    with pytest.raises(InputError):
        utc_datetime("0001-01-01T00:00:00+14:00")


@pytest.mark.parametrize(
    "text",
    ["http://127.0.0.1:9/x", "/etc/passwd", "x.prj", "+proj=longlat +nadgrids=/a", "EPSG:1;2", ""],
)
def test_a_crs_is_a_code_or_wkt_and_no_place_to_read(text: str) -> None:
    with pytest.raises(InputError, match="give a code"):
        wkt_of(text)
    with pytest.raises(InputError, match="not a CRS"):
        wkt_of("EPSG:1e5")

"""The mosaic's grid, where sources lie on it, and what is refused by name."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rasterio
from rasterio.crs import CRS
from rasterio.transform import Affine

from scenemosaic.compositing import points
from scenemosaic.errors import InputError
from scenemosaic.planning import survey
from scenemosaic.plans.asked_again import options_of
from tests.compositing.scenes import Mosaic, make, mosaic, waves
from tests.plan.rasters import write_raster


def box(made: Mosaic) -> tuple[float, float, float, float]:
    """West, south, east, north."""
    grid = made.plan.recipe.grid
    a, _b, c, _d, e, f = grid.transform
    return c, f + e * grid.height, c + a * grid.width, f


def refused(sources: list[str], **options: Any) -> str:
    with pytest.raises(InputError) as caught:
        mosaic(sources, **options)
    text = str(caught.value)
    assert "\n" not in text
    return text


@pytest.fixture
def plain(tmp_path: Path) -> str:
    """30 m pixels whose edges are at odd multiples of 15, as Landsat's are."""
    return make(tmp_path / "plain.tif", waves(40, 50).astype("uint16"), size=30.0, origin=(15, 45))


def test_the_first_sources_lattice_is_kept_where_it_can_be(plain: str) -> None:
    for options in ({"crs": "EPSG:32631"}, {"resolution": (30.0,)}, {"method": "first"}):
        made = mosaic([plain], **options)
        assert box(made) == (15, 45 - 1200, 1515, 45)
        assert made.plan.recipe.merge is not None
        assert made.plan.recipe.merge.warp is None
    # Outwards to whole pixels, and no further.
    assert box(mosaic([plain], bounds=(100, -200, 200, -100))) == (75, -225, 225, -75)
    assert box(mosaic([plain], bounds=(75, -225, 225, -75))) == (75, -225, 225, -75)


def test_other_lattices_are_of_multiples(plain: str) -> None:
    made = mosaic([plain], resolution=(20.0, 40.0))
    assert box(made) == (0, -1160, 1520, 80)
    assert box(mosaic([plain], resolution=(100.0,), bounds=(1, -399, 401, -1))) == (0, -400, 500, 0)


def test_a_suggested_pixel_is_a_short_number(plain: str) -> None:
    made = mosaic([plain], crs="EPSG:4326")
    a = made.plan.recipe.grid.transform[0]
    assert a == float(f"{a:.5g}")
    assert any("--resolution" in note for note in made.notes)


def test_half_a_pixel_off_is_resampled_and_said(tmp_path: Path) -> None:
    one = make(tmp_path / "a.tif", waves(20, 20).astype("uint8"))
    two = make(tmp_path / "b.tif", waves(20, 20).astype("uint8"), (0.5, 20))
    made = mosaic([one, two])
    assert any(two in note and "bilinear" in note for note in made.notes)
    assert any(note.startswith("1 of 2 sources lies off") for note in made.notes)
    near = make(tmp_path / "c.tif", waves(20, 20).astype("uint8"), (1e-6, 20))
    assert not any("bilinear" in note for note in mosaic([one, near]).notes)


def test_south_up_and_rotated_lattices(tmp_path: Path) -> None:
    pixels = waves(20, 30).astype("uint16")
    up = Affine(10, 0, 500_000, 0, 10, 4_000_000)
    turned = Affine(8, 6, 500_000, 6, -8, 4_000_000)
    for name, lattice in (("up", up), ("turned", turned)):
        halves = [
            write_raster(
                tmp_path / f"{name}{x}.tif",
                pixels[:, :, x : x + 15],
                transform=lattice * Affine.translation(x, 0),
            )
            for x in (0, 15)
        ]
        assert np.array_equal(mosaic(halves).pixels(16), pixels)
    # A rotated source on a grid that is not: as it lies on the ground.
    made = mosaic([halves[0]], bounds=(500_000, 3_999_900, 500_200, 4_000_100))
    assert made.plan.recipe.grid.transform[1] == 0
    assert made.pixels(16).any()


@pytest.mark.parametrize(
    "turned", [Affine(0, -0.1, 10, 0.1, 0, 45), Affine(0.1, 0.05, 10, 0, -0.1, 45)]
)
def test_a_turned_lattice_of_degrees(tmp_path: Path, turned: Affine) -> None:
    """Also one whose columns run north: its pixels have no width in degrees east."""
    pixels = waves(20, 30).astype("uint16")
    halves = [
        write_raster(
            tmp_path / f"{x}.tif",
            pixels[:, :, x : x + 15],
            crs="EPSG:4326",
            transform=turned * Affine.translation(x, 0),
        )
        for x in (0, 15)
    ]
    assert np.array_equal(mosaic(halves).pixels(16), pixels)


def degrees(path: Path, west: float, pixels: Any) -> str:
    """A source of a tenth of a degree a pixel, from 10 degrees north downwards."""
    lattice = Affine(0.1, 0, west, 0, -0.1, 10)
    return write_raster(path, pixels, crs="EPSG:4326", transform=lattice, nodata=0)


def test_across_the_antimeridian_the_mosaic_goes_on(tmp_path: Path) -> None:
    pixels = waves(20, 40).astype("uint16")
    west = degrees(tmp_path / "west.tif", 178.0, pixels[:, :, :20])
    east = degrees(tmp_path / "east.tif", -180.0, pixels[:, :, 20:])
    beyond = degrees(tmp_path / "beyond.tif", 180.0, pixels[:, :, 20:])
    for other in (east, beyond):
        made = mosaic([west, other])
        assert box(made) == pytest.approx((178, 8, 182, 10))
        assert np.array_equal(made.pixels(16), pixels)
    asked = mosaic([beyond, west], bounds=(179, 8, -179, 10))
    assert np.array_equal(asked.pixels(), pixels[:, :, 10:30])
    home = mosaic([beyond], bounds=(-180, 8, -178, 10))
    assert np.array_equal(home.pixels(), pixels[:, :, 20:])


def test_zones_on_both_sides_of_the_antimeridian(tmp_path: Path) -> None:
    """The same ground as one strip of degrees, also where a source itself goes across."""
    size = {"size": 1000.0, "nodata": 0}
    last = make(
        tmp_path / "60.tif",
        np.full((1, 90, 90), 60, "uint8"),
        origin=(750_000.0, 1_100_000.0),
        crs="EPSG:32660",
        **size,
    )
    first = make(
        tmp_path / "1.tif",
        np.full((1, 90, 90), 1, "uint8"),
        origin=(170_000.0, 1_100_000.0),
        crs="EPSG:32601",
        **size,
    )
    made = mosaic([last, first], crs="EPSG:4326", warp_resampling="nearest")
    west, _, east, _ = box(made)
    assert 179 < west < 180 < east < 181
    pixels = made.pixels()
    assert np.array_equal(made.pixels(16), pixels)
    assert {1, 60} <= set(np.unique(pixels))
    half = mosaic([last, first], crs="EPSG:4326", bounds=(-180, 9, -179, 10), resolution=(0.01,))
    assert half.pixels().any()
    text = refused([last, first], crs="EPSG:3857")
    assert text.startswith(last)
    assert "antimeridian" in text


def test_a_pole(tmp_path: Path) -> None:
    source = make(
        tmp_path / "a.tif",
        np.full((1, 100, 100), 5, "uint8"),
        size=20_000.0,
        origin=(-1e6, 1e6),
        crs="EPSG:3413",
        nodata=0,
    )
    made = mosaic([source], crs="EPSG:4326", resolution=(0.5,), warp_resampling="nearest")
    assert (box(made)[0], *box(made)[2:]) == (-180, 180, 90)
    pixels = made.pixels()
    assert (pixels[0, 0] == 5).all()
    assert np.array_equal(made.pixels(128), pixels)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"crs": "EPSG:0"}, "is no CRS"),
        ({"crs": "EPSG:4978"}, "neither geographic nor projected"),
        ({"resolution": (0.0,)}, "numbers above 0"),
        ({"resolution": (1.0, 2.0, 3.0)}, "one or two"),
        ({"bounds": (1.0, 2.0, 3.0)}, "west,south,east,north"),
        ({"bounds": (1.0, 2.0, 3.0, 2.0)}, "no area"),
        ({"bounds": (3.0, 1.0, 1.0, 2.0)}, "west behind their east"),
        ({"bounds": (1e6, 1e6, 2e6, 2e6)}, "lies at 15,-1155,1515,45"),
        ({"method": "best"}, "--method must be one of"),
        ({"warp_resampling": "gauss"}, "--warp-resampling must be one of"),
        ({"resolution": (1e-6,)}, "too"),
        ({"resolution": (1e-300,)}, "--resolution takes one or two numbers above 0"),
        ({"resolution": (1e-150,)}, "--resolution 1e-150 would make a mosaic of"),
        ({"bounds": (0.0, 0.0, 1e300, 1e300)}, "--bounds 0,0,1e+300,1e+300 would make a mosaic of"),
        ({"bounds": (0.0, 0.0, 1e300, 1e300), "resolution": (1e-100,)}, "larger --resolution"),
        (
            {"crs": "EPSG:4326", "resolution": (1e6,)},
            "reaches 1e+06 units of EPSG:4326, of which 360",
        ),
        (
            {"crs": "EPSG:4326", "resolution": (1.0, 1e6)},
            "1,1e+06 would make a mosaic that reaches",
        ),
        (
            {"crs": "EPSG:4326", "resolution": (10.0,), "bounds": (5e5, 5e6, 5.1e5, 5.01e6)},
            "--bounds 500000,5e+06,510000,5.01e+06 would make a mosaic that reaches",
        ),
        ({"crs": "OGC:CRS84"}, "--crs OGC:CRS84 is not kept in a GeoTIFF, which has EPSG:4326"),
        ({"crs": "EPSG:4326+5773"}, "--crs EPSG:4326+5773 has heights"),
    ],
)
def test_options_that_make_no_sense(plain: str, options: dict[str, Any], words: str) -> None:
    assert words in refused([plain], **options)


def test_another_planet_is_refused_at_once(
    tmp_path: Path, plain: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []
    real = points.transform
    monkeypatch.setattr(points, "transform", lambda *given: (asked.append(given), real(*given))[1])
    sphere = CRS.from_string("+proj=eqc +lat_ts=-10 +R=3395582 +units=m")
    mars = make(tmp_path / "mars.tif", waves(9, 9).astype("uint16"), crs=sphere.to_wkt())
    assert refused([mars], crs="EPSG:32631").startswith(f"{mars}: no way leads from its CRS")
    assert "another --crs" in refused([plain, mars])
    assert len(asked) == 2, "and not each point by itself"


def test_sources_outside_are_left_out(tmp_path: Path, plain: str) -> None:
    far = make(tmp_path / "far.tif", waves(9, 9).astype("uint16"), size=30.0, origin=(30_015, 45))
    made = mosaic([far, plain], bounds=(15, -1155, 1515, 45))
    assert made.locations == (plain,)
    assert any(far in note for note in made.notes)


@pytest.mark.parametrize(
    ("other", "options", "words"),
    [
        ({"dtype": "int16"}, {}, "--dtype"),
        ({"bands": 2}, {}, "--bands"),
        ({"scale": 0.1}, {}, "--unscale"),
        ({"unit": "ft"}, {}, "one unit"),
        ({"colours": {1: (9, 9, 9, 255)}}, {}, "use of bands"),
    ],
)
def test_what_does_not_go_together(
    tmp_path: Path, other: dict[str, Any], options: dict[str, Any], words: str
) -> None:
    one = make(tmp_path / "a.tif", np.ones((1, 8, 8), "uint8"))
    with rasterio.open(one, "r+") as dataset:
        dataset.units = ("m",)
    shape = (other.get("bands", 1), 8, 8)
    two = make(tmp_path / "b.tif", np.ones(shape, other.get("dtype", "uint8")))
    with rasterio.open(two, "r+") as dataset:
        dataset.scales = (other.get("scale", 1.0),) * shape[0]
        dataset.units = (other.get("unit", "m"),) * shape[0]
        if "colours" in other:
            dataset.write_colormap(1, other["colours"])
    text = refused([one, two], **options)
    assert all(part in text for part in (one, two, words))


@pytest.mark.parametrize(
    ("dtype", "options", "words"),
    [
        ("complex64", {"method": "max"}, "needs an order"),
        ("complex64", {"crs": "EPSG:3857", "warp_resampling": "cubic"}, "nearest alone"),
        ("int64", {"method": "mean"}, "not exact"),
        ("uint64", {"crs": "EPSG:3857"}, "bring it to the grid"),
        ("uint8", {"method": "mean", "categorical": True}, "mix classes"),
        ("uint8", {"warp_resampling": "cubic", "categorical": True}, "of classes"),
    ],
)
def test_methods_and_kernels_that_do_not_suit(
    tmp_path: Path, dtype: str, options: dict[str, Any], words: str
) -> None:
    source = make(tmp_path / "a.tif", np.ones((1, 8, 8), dtype))
    assert words in refused([source], **options)


def test_one_crs_by_two_names_is_one(tmp_path: Path) -> None:
    pixels = waves(20, 40).astype("uint16")
    wkt = CRS.from_string("+proj=laea +lat_0=50 +lon_0=10 +datum=WGS84").to_wkt()
    named = wkt.replace('PROJCS["unknown"', 'PROJCS["Lambert of our own"')
    assert named != wkt
    one = make(tmp_path / "a.tif", pixels[:, :, :20], crs=wkt)
    two = make(tmp_path / "b.tif", pixels[:, :, 20:], (0, 20), crs=named)
    made = mosaic([one, two])
    assert not any("CRS" in note or "resampled" in note for note in made.notes)
    assert np.array_equal(made.pixels(), pixels)
    assert np.array_equal(mosaic([two, one], crs=wkt).pixels(), pixels)


def test_the_lattice_is_the_same_to_the_last_bit(tmp_path: Path) -> None:
    """In whichever order sources come, also where their origins are no round numbers."""
    numbers = np.arange(8 * 30, dtype="uint8").reshape(1, 8, 30)
    lattice = {"size": 0.1, "origin": (7.3, 50.7), "crs": "EPSG:4326"}
    sources = [
        make(tmp_path / f"{x}.tif", numbers[:, :, x : x + 10], (0, x), **lattice)
        for x in (0, 10, 20)
    ]
    orders = [sources, sources[::-1], [sources[1], sources[0], sources[2]]]
    jobs = {mosaic(order, method="max").plan.job_id for order in orders}
    assert len(jobs) == 1
    grids = {mosaic(order).plan.recipe.grid for order in orders}
    assert len(grids) == 1


def test_the_lattice_of_any_source_in_the_mosaics_crs(tmp_path: Path, plain: str) -> None:
    other = make(
        tmp_path / "other.tif",
        waves(40, 50).astype("uint16"),
        size=30.0,
        origin=(-500_000.0, 0.0),
        crs="EPSG:32632",
    )
    made = mosaic([other, plain], crs="EPSG:32631")
    assert made.plan.recipe.grid.transform[:2] == (30.0, 0.0)
    assert (made.plan.recipe.grid.transform[2] - 15) % 30 == 0
    asked = mosaic([plain, other], method="mean")
    again = survey(asked.locations, options_of(asked.plan)).plan
    assert again.job_id == asked.plan.job_id

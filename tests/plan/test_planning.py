"""What planning takes, and what it refuses by name before anything is written."""

import shutil
import struct
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rasterio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rasterio.control import GroundControlPoint
from rasterio.enums import ColorInterp
from rasterio.rpc import RPC

from scenemosaic.errors import InputError
from scenemosaic.planning import plan_scene, survey
from scenemosaic.plans.plan import PlanOptions
from scenemosaic.recipes.recipe import Recipe
from scenemosaic.tiff import ifd
from scenemosaic.tiff.ifd import Tag
from tests.plan.rasters import handmade, text_tag, write_raster

AUTO = PlanOptions()


def recipe_of(source: str, options: PlanOptions = AUTO) -> Recipe:
    return plan_scene([source], options)[0].recipe


def refused(source: str, options: PlanOptions = AUTO) -> str:
    """The one line with which planning refuses a source."""
    with pytest.raises(InputError) as caught:
        plan_scene([source], options)
    text = str(caught.value)
    assert "\n" not in text
    assert text.startswith(source)
    assert text.count(source) == 1
    return text


def test_a_plan_takes_over_the_header(tmp_path: Path) -> None:
    source = write_raster(tmp_path / "a.tif", nodata=7, interleave="pixel")
    plan, locations = plan_scene([source], AUTO)
    recipe = plan.recipe
    assert locations == (source,)
    assert (recipe.dtype, recipe.bands, recipe.nodata) == ("uint16", 3, 7)
    assert recipe.grid.transform == (10.0, 0.0, 500_000.0, 0.0, -10.0, 4_000_000.0)
    assert (recipe.grid.width, recipe.grid.height) == (50, 40)
    assert (recipe.predictor, recipe.interleave, recipe.resampling) == (2, "pixel", "average")


def test_a_copy_elsewhere_is_the_same_job(tmp_path: Path) -> None:
    source = write_raster(tmp_path / "a.tif")
    (tmp_path / "sub").mkdir()
    copy = shutil.copy(source, tmp_path / "sub" / "other name.tif")
    assert plan_scene([source], AUTO)[0].job_id == plan_scene([str(copy)], AUTO)[0].job_id
    assert str(tmp_path).encode() not in plan_scene([source], AUTO)[0].canonical


def test_planning_writes_nothing_beside_the_source(tmp_path: Path) -> None:
    source = write_raster(tmp_path / "a.tif")
    before = {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    plan_scene([source], AUTO)
    assert {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize(
    ("dtype", "predictor"),
    [("uint8", 2), ("int8", 2), ("int64", 2), ("uint64", 2), ("float32", 3), ("float64", 3)],
)
def test_predictors_follow_the_type(tmp_path: Path, dtype: str, predictor: int) -> None:
    source = write_raster(tmp_path / "a.tif", np.ones((1, 8, 8), dtype))
    assert recipe_of(source).predictor == predictor
    assert recipe_of(source, PlanOptions(predictor=1)).predictor == 1
    assert recipe_of(source, PlanOptions(compress="none")).predictor == 1


@pytest.mark.parametrize("nodata", [float("nan"), float("inf"), float("-inf"), -9999.0, 0.1])
def test_float_nodata_of_every_kind(tmp_path: Path, nodata: float) -> None:
    source = write_raster(tmp_path / "a.tif", np.ones((1, 8, 8), "float64"), nodata=nodata)
    assert repr(recipe_of(source).nodata) == repr(nodata)


def test_sources_interleave_is_kept(tmp_path: Path) -> None:
    for interleave in ("band", "pixel"):
        source = write_raster(tmp_path / "a.tif", interleave=interleave)
        assert recipe_of(source).interleave == interleave
    assert recipe_of(source, PlanOptions(interleave="band")).interleave == "band"


def test_an_internal_mask_is_carried(tmp_path: Path) -> None:
    source = write_raster(tmp_path / "a.tif")
    with rasterio.Env(GDAL_TIFF_INTERNAL_MASK=True), rasterio.open(source, "r+") as dataset:
        dataset.write_mask(np.eye(40, 50) > 0)
    assert recipe_of(source).has_mask


def test_alpha_is_a_band_and_no_mask(tmp_path: Path) -> None:
    pixels = np.ones((4, 8, 8), "uint8")
    source = write_raster(tmp_path / "a.tif", pixels, photometric="RGB", alpha="YES")
    recipe = recipe_of(source)
    assert (recipe.bands, recipe.has_mask) == (4, False)


def test_classes_and_complex_numbers_take_nearest(tmp_path: Path) -> None:
    source = write_raster(tmp_path / "p.tif", np.ones((1, 8, 8), "uint8"), photometric="PALETTE")
    with rasterio.open(source, "r+") as dataset:
        dataset.write_colormap(1, {0: (1, 2, 3, 255)})
    assert recipe_of(source).resampling == "nearest"
    assert any("nearest" in note for note in survey([source], AUTO).notes)
    assert recipe_of(source, PlanOptions(resampling="mode")).resampling == "mode"
    assert "nearest, mode" in refused(source, PlanOptions(resampling="average"))
    complex_ = write_raster(tmp_path / "c.tif", np.ones((1, 8, 8), "complex64"))
    assert recipe_of(complex_).resampling == "nearest"
    assert "nearest alone" in refused(complex_, PlanOptions(resampling="average"))


def test_values_that_are_said_to_be_classes(tmp_path: Path) -> None:
    source = write_raster(tmp_path / "c.tif", np.ones((1, 8, 8), "uint8"))
    classes = PlanOptions(categorical=True)
    assert recipe_of(source).resampling == "average"
    assert recipe_of(source, classes).resampling == "mode"
    assert any("classes" in note for note in survey([source], classes).notes)
    nearest = PlanOptions(categorical=True, resampling="nearest")
    assert recipe_of(source, nearest).resampling == "nearest"
    for options in ({"resampling": "cubic"}, {"compress": "jpeg"}):
        assert "classes" in refused(source, PlanOptions(categorical=True, **options))


def test_only_colours_are_stored_as_brightness_and_differences(tmp_path: Path) -> None:
    three = np.ones((3, 64, 64), "uint8")
    colours = write_raster(tmp_path / "rgb.tif", three, photometric="RGB")
    bands = write_raster(tmp_path / "bands.tif", three, photometric="MINISBLACK")
    jpeg = PlanOptions(compress="jpeg")
    assert recipe_of(colours, jpeg).photometric == "ycbcr"
    assert recipe_of(colours).photometric is None
    assert recipe_of(bands, jpeg).photometric is None
    apart = PlanOptions(compress="jpeg", interleave="band")
    assert recipe_of(colours, apart).photometric is None


def test_rotated_and_south_up_grids_are_kept_exactly(tmp_path: Path) -> None:
    for terms in ((7.0, 3.0, 1e5, 2.0, -9.0, 4e6), (0.1, 0.0, 1e5, 0.0, 0.3, 4e6)):
        source = write_raster(tmp_path / "a.tif", transform=rasterio.Affine(*terms))
        assert recipe_of(source).grid.transform == terms
        assert any("kept as it is" in note for note in survey([source], AUTO).notes)


def test_options_are_checked_before_a_source_is_read(tmp_path: Path) -> None:
    none = str(tmp_path / "none.tif")
    cases: list[tuple[dict[str, Any], str]] = [
        ({"window": "big"}, "window"),
        ({"window": 0}, "window"),
        ({"window": True}, "window"),
        ({"datetime": "soon"}, "not a date"),
        ({"collection": ""}, "collection"),
    ]
    for values, words in cases:
        with pytest.raises(InputError, match=words):
            plan_scene([none], PlanOptions(**values))


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"compress": "brotli"}, "--compress must be one of deflate"),
        ({"block_size": 500}, "--block-size must be a multiple of 16, not 500"),
        ({"block_size": 0}, "--block-size must be a multiple of 16"),
        ({"window": 1000}, "--window must be a multiple of 512, or of the --block-size"),
        ({"window": 1000, "block_size": 512}, "--window must be a multiple of --block-size 512"),
        ({"resampling": "sinc"}, "--resampling must be one of nearest"),
        ({"effort": "most"}, "--effort must be one of fast"),
        ({"effort": "small", "level": 6}, "--effort: give a level or an effort, not both"),
        ({"effort": "fast", "compress": "lzw"}, "--effort: lzw knows no effort"),
        ({"level": 99}, "--level: level of deflate must be within 1..12, not 99"),
        ({"level": 3, "compress": "lzw"}, "--level: lzw has no level"),
    ],
)
def test_what_suits_no_source_names_its_option_and_no_file(
    tmp_path: Path, values: dict[str, Any], words: str
) -> None:
    with pytest.raises(InputError) as caught:
        plan_scene([str(tmp_path / "none.tif")], PlanOptions(**values))
    assert str(caught.value).startswith(words)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"compress": "jpeg"}, "jpeg holds uint8 alone, not uint16: use --compress deflate"),
        ({"compress": "webp"}, "uint8 alone"),
        ({"interleave": "line"}, "interleave must be"),
        ({"predictor": 3}, "predictor"),
    ],
)
def test_bad_options_are_refused(tmp_path: Path, values: dict[str, Any], words: str) -> None:
    source = write_raster(tmp_path / "a.tif")
    assert words in refused(source, PlanOptions(**values))


def test_no_source() -> None:
    with pytest.raises(InputError, match="give a source"):
        plan_scene([], AUTO)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("gs://bucket/key.tif", "gs:// is not read"),
        ("ftp://host/a.tif", "ftp:// is not read"),
        ("zip://a.zip!b.tif", "zip:// is not read"),
        ("s3://bucket", "not an object"),
        ("https://host", "not an object"),
        ("", "not a source"),
    ],
)
def test_odd_locations(text: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        plan_scene([text], AUTO)


def test_credentials_in_a_uri_are_refused_and_never_repeated() -> None:
    with pytest.raises(InputError) as caught:
        plan_scene(["https://user:hunter2@host/a.tif?sig=s3cret"], AUTO)
    assert "hunter2" not in str(caught.value)
    assert "s3cret" not in str(caught.value)


def test_gdals_own_path_syntax_opens_nothing(tmp_path: Path) -> None:
    write_raster(tmp_path / "a.tif")
    for text in (
        f"GTIFF_DIR:1:{tmp_path}/a.tif",
        "/vsimem/x.tif",
        "<VRTDataset/>",
        "/vsizip/a.zip/b",
    ):
        with pytest.raises(InputError):
            plan_scene([text], AUTO)


def test_a_vrt_named_tif_is_refused(tmp_path: Path) -> None:
    other = write_raster(tmp_path / "secret.tif")
    vrt = tmp_path / "a.tif"
    vrt.write_text(
        '<VRTDataset rasterXSize="50" rasterYSize="40"><SRS>EPSG:32631</SRS>'
        "<GeoTransform>0,1,0,0,0,-1</GeoTransform>"
        '<VRTRasterBand dataType="UInt16" band="1"><SimpleSource>'
        f"<SourceFilename>{other}</SourceFilename></SimpleSource></VRTRasterBand></VRTDataset>"
    )
    with rasterio.open(vrt) as dataset:  # by default GDAL does read the other file
        assert dataset.driver == "VRT"
    assert "not a raster" in refused(str(vrt))


def test_missing_georeferencing(tmp_path: Path) -> None:
    identity = rasterio.Affine.identity()
    assert "no transform" in refused(write_raster(tmp_path / "a.tif", crs=None, transform=identity))
    assert "(CRS;" in refused(write_raster(tmp_path / "b.tif", crs=None))
    assert "(transform;" in refused(write_raster(tmp_path / "c.tif", transform=identity))


def test_gcps_and_rpcs(tmp_path: Path) -> None:
    points = [GroundControlPoint(r, c, c, r) for r, c in ((0, 0), (0, 9), (9, 0), (9, 9))]
    source = write_raster(tmp_path / "a.tif", crs="EPSG:4326", transform=None, gcps=points)
    assert "4 ground control points" in refused(source)
    source = write_raster(tmp_path / "b.tif")
    numbers = [1.0] * 20
    with rasterio.open(source, "r+") as dataset:
        dataset.rpcs = RPC(1, 1, 1, 1, numbers, numbers, 1, 1, 1, 1, numbers, numbers, 1, 1)
    assert "RPC" in refused(source)


@pytest.mark.parametrize(("bits", "name"), [(32, "CInt16"), (64, "CInt32")])
def test_complex_integers(tmp_path: Path, bits: int, name: str) -> None:
    """rasterio says complex64 of CInt32, and would quietly lose half of its digits."""
    tags = {258: Tag.of(ifd.SHORT, [bits]), 339: Tag.of(ifd.SHORT, [5])}
    assert name in refused(handmade(tmp_path / "a.tif", tags))


@pytest.mark.parametrize(("dtype", "bits"), [("uint8", 2), ("uint8", 4), ("uint16", 12)])
def test_odd_bits(tmp_path: Path, dtype: str, bits: int) -> None:
    source = write_raster(tmp_path / "a.tif", np.ones((1, 8, 8), dtype), nbits=bits)
    recipe = recipe_of(source)
    assert (recipe.nbits, recipe.predictor) == (bits, 1)
    assert any("--whole-bits" in note for note in survey([source], AUTO).notes)
    whole = recipe_of(source, PlanOptions(whole_bits=True))
    assert (whole.nbits, whole.predictor) == (None, 2)
    for options in ({"compress": "lerc"}, {"predictor": 2}):
        assert f"{bits} bits" in refused(source, PlanOptions(**options))


def test_nodata_outside_the_bits(tmp_path: Path) -> None:
    """Blocks that the source leaves out read as it, and the mosaic could not hold it."""
    pixels = np.ones((1, 8, 8), "uint16")
    source = write_raster(tmp_path / "a.tif", pixels, nbits=12, nodata=4096)
    assert "--whole-bits" in refused(source)
    assert recipe_of(source, PlanOptions(whole_bits=True)).nodata == 4096
    assert recipe_of(write_raster(tmp_path / "b.tif", pixels, nbits=12, nodata=4095)).nbits == 12


def test_lerc_keeps_colours_beneath_an_alpha_band_by_band(tmp_path: Path) -> None:
    """libtiff makes LERC's mask of an alpha of 0 and 255: what lies beneath would be lost."""
    source = write_raster(
        tmp_path / "a.tif", np.zeros((4, 8, 8), "uint8"), photometric="RGB", ALPHA="YES"
    )
    assert recipe_of(source, PlanOptions(compress="lerc")).interleave == "band"
    assert recipe_of(source, PlanOptions(compress="deflate")).interleave == "pixel"
    assert "alpha is 0" in refused(source, PlanOptions(compress="lerc", interleave="pixel"))


def test_metadata_beyond_what_a_tile_carries(tmp_path: Path) -> None:
    source = write_raster(tmp_path / "a.tif")
    with rasterio.open(source, "r+") as dataset:
        dataset.update_tags(HISTORY="x" * (5 << 20))
    assert "its metadata takes 5.0 MiB" in refused(source)


def test_a_palette_of_few_bits_keeps_them(tmp_path: Path) -> None:
    pixels = np.ones((1, 8, 8), "uint8")
    source = write_raster(tmp_path / "p.tif", pixels, photometric="PALETTE", nbits=4)
    assert recipe_of(source).nbits == 4
    assert "leave out --whole-bits" in refused(source, PlanOptions(whole_bits=True))


def test_bits_of_a_jpeg2000_source(tmp_path: Path) -> None:
    """As Sentinel-2's: 15 bits in uint16."""
    options: dict[str, Any] = {"driver": "JP2OpenJPEG", "QUALITY": "100", "REVERSIBLE": "YES"}
    pixels = np.arange(128 * 128, dtype="uint16").reshape(1, 128, 128)
    assert recipe_of(write_raster(tmp_path / "a.jp2", pixels, nbits=15, **options)).nbits == 15


def test_half_floats(tmp_path: Path) -> None:
    source = write_raster(tmp_path / "a.tif", np.ones((1, 8, 8), "float32"), nbits=16)
    assert "NBITS=16" in refused(source)


@pytest.mark.parametrize("nodata", ["-9999", "256", "nan", "0.5", "1e40", "none"])
def test_nodata_outside_the_type(tmp_path: Path, nodata: str) -> None:
    source = handmade(tmp_path / "a.tif", {42113: text_tag(nodata)})
    assert f"nodata {nodata} is not a value of uint8" in refused(source)


@pytest.mark.parametrize(
    ("kind", "nodata", "taken"),
    [
        (2, "-9007199254740992", True),
        (2, "9007199254740993", False),
        (2, "-9223372036854775808", False),
        (1, "18446744073709551615", False),
        (1, "-1", False),
        (1, "4294967297", True),
    ],
)
def test_sixty_four_bit_nodata(tmp_path: Path, kind: int, nodata: str, taken: bool) -> None:
    tags = {258: Tag.of(ifd.SHORT, [64]), 339: Tag.of(ifd.SHORT, [kind])}
    source = handmade(tmp_path / "a.tif", tags | {42113: text_tag(nodata)})
    if taken:
        assert recipe_of(source).nodata == int(nodata)
    else:
        assert nodata in refused(source)


DEFLATE, ONE_BIT = {259: Tag.of(ifd.SHORT, [8])}, {258: Tag.of(ifd.SHORT, [1])}
NO_STRIPS = dict.fromkeys((273, 278, 279))
ONE_TILE = {code: Tag.of(ifd.LONG, [66000]) for code in (322, 323)}
NO_BYTES = {code: Tag.of(ifd.LONG, [0]) for code in (324, 325)}


@pytest.mark.parametrize(
    ("tags", "rows", "size"),
    [
        (DEFLATE, 66000, "4.1 GiB"),
        # GDAL gives each sample of one bit a byte, also where a tile has no bytes at all.
        (DEFLATE | ONE_BIT | NO_STRIPS | ONE_TILE | NO_BYTES, 66000, "4.6 GiB"),
        (
            {code: Tag.of(ifd.LONG, [size] * 3) for code, size in ((273, 8), (279, 64))}
            | DEFLATE | ONE_BIT | {278: Tag.of(ifd.LONG, [30000])},
            30000,
            "2.1 GiB",
        ),
    ],
)  # fmt: skip
def test_a_gigantic_block_is_refused_with_its_size(
    tmp_path: Path, tags: dict[int, Tag | None], rows: int, size: str
) -> None:
    """A few hundred bytes that would take gigabytes to read one pixel of."""
    source = handmade(tmp_path / "a.tif", tags, width=66000, height=66000)
    assert Path(source).stat().st_size < 600
    assert f"(66000 x {rows} pixels) takes {size} when it is read" in refused(source)


@pytest.mark.parametrize(
    "options",
    [
        {"blockysize": 7},
        {"blockysize": 7, "interleave": "band"},
        {"blockysize": 100, "interleave": "pixel"},
        {"tiled": True, "blockxsize": 16, "blockysize": 32},
        {"tiled": True, "blockxsize": 16, "blockysize": 16, "interleave": "band"},
        {"blockysize": 7, "nbits": 12},
        {"blockysize": 9, "nbits": 1, "interleave": "band", "dtype": "uint8"},
    ],
    ids=repr,
)
def test_what_is_not_compressed_has_its_length(tmp_path: Path, options: dict[str, Any]) -> None:
    """Whole, it is taken; without its last byte it is not, whatever its table of lengths says."""
    options = dict(options)
    pixels = np.ones((3, 40, 50), options.pop("dtype", "uint16"))
    source = Path(write_raster(tmp_path / "a.tif", pixels, **options))
    assert recipe_of(str(source)).bands == 3
    whole = source.read_bytes()
    source.write_bytes(whole[:-1])
    assert "truncated" in refused(str(source))


def test_a_length_that_is_too_short_for_the_pixels(tmp_path: Path) -> None:
    """352 bytes that say to be 66,000 x 66,000 pixels of one byte each."""
    source = handmade(tmp_path / "a.tif", {}, width=66000, height=66000)
    assert "the first ends at byte 4356000008" in refused(source)


def test_several_images_in_one_file(tmp_path: Path) -> None:
    source = tmp_path / "a.tif"
    write_raster(source)
    with rasterio.open(source) as dataset:
        profile, pixels = dataset.profile, dataset.read()
    with rasterio.open(source, "w", **profile, append_subdataset="YES") as dataset:
        dataset.write(pixels)
    with rasterio.open(source, "w", **profile, append_subdataset="YES") as dataset:
        dataset.write(pixels)
    with rasterio.open(source) as dataset:
        count = len(dataset.subdatasets)
    if count < 2:
        pytest.fail("the test made no file of several images")
    assert f"{count} images" in refused(str(source))


def test_a_mask_beside_the_file_is_refused(tmp_path: Path) -> None:
    source = write_raster(tmp_path / "a.tif")
    with rasterio.Env(GDAL_TIFF_INTERNAL_MASK=False), rasterio.open(source, "r+") as dataset:
        dataset.write_mask(np.eye(40, 50) > 0)
    assert (tmp_path / "a.tif.msk").exists()
    assert "a.tif.msk" in refused(source)


def test_metadata_beside_the_file_is_no_part_of_it(tmp_path: Path) -> None:
    source = write_raster(tmp_path / "a.tif")
    job_id = plan_scene([source], AUTO)[0].job_id
    (tmp_path / "a.tif.aux.xml").write_text(
        '<PAMDataset><Metadata><MDI key="TIFFTAG_DATETIME">2020:01:01 00:00:00</MDI>'
        "</Metadata></PAMDataset>"
    )
    scene = survey([source], AUTO)
    assert scene.plan.job_id == job_id
    assert any("a.tif.aux.xml" in note for note in scene.notes)


def test_a_crs_that_geotiff_does_not_hold_is_refused(scenes_dir: Path) -> None:
    source = str(scenes_dir / "descr_units_compound_f32.tif")
    assert "its CRS would change" in refused(source)


def test_an_erdas_imagine_source(tmp_path: Path) -> None:
    source = tmp_path / "a.img"
    write_raster(source, np.ones((2, 70, 70), "int16"), driver="HFA")
    assert recipe_of(str(source)).bands == 2


def test_a_jpeg2000_source(tmp_path: Path) -> None:
    source = tmp_path / "a.jp2"
    options: dict[str, Any] = {"driver": "JP2OpenJPEG", "QUALITY": "100", "REVERSIBLE": "YES"}
    pixels = np.arange(128 * 128, dtype="uint16").reshape(1, 128, 128)
    write_raster(source, pixels, **options)
    assert recipe_of(str(source)).dtype == "uint16"
    whole = source.read_bytes()
    for share in (0.3, 0.6, 0.99):
        source.write_bytes(whole[: int(len(whole) * share)])
        assert refused(str(source))


@pytest.fixture(scope="module")
def whole_files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Classic and Big, striped and tiled, compressed and not, with a mask behind the pixels."""
    folder = tmp_path_factory.mktemp("whole")
    rng = np.random.default_rng(1)
    pixels = rng.integers(1, 60000, (2, 100, 90)).astype("uint16")
    tiled: dict[str, Any] = {"tiled": True, "blockxsize": 32, "blockysize": 32}
    profiles: list[dict[str, Any]] = [
        {},
        tiled,
        tiled | {"compress": "deflate", "bigtiff": "YES"},
        {"compress": "lzw", "endianness": "big"},
    ]
    files = []
    for number, profile in enumerate(profiles):
        source = write_raster(folder / f"{number}.tif", pixels, **profile)
        with rasterio.Env(GDAL_TIFF_INTERNAL_MASK=True), rasterio.open(source, "r+") as dataset:
            dataset.write_mask(pixels[0] > 1000)
        files.append(Path(source))
    return files


@settings(
    max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(st.integers(0, 3), st.floats(0, 1, exclude_max=True))
def test_a_file_cut_anywhere_is_refused_or_reads_as_before(
    whole_files: list[Path], tmp_path: Path, number: int, share: float
) -> None:
    whole = whole_files[number].read_bytes()
    cut = tmp_path / "cut.tif"
    cut.write_bytes(whole[: int(len(whole) * share)])
    try:
        plan_scene([str(cut)], AUTO)
    except InputError as error:
        assert str(error).startswith(str(cut))  # noqa: PT017
        return
    with rasterio.open(whole_files[number]) as expected, rasterio.open(cut) as found:
        np.testing.assert_array_equal(found.read(), expected.read())
        np.testing.assert_array_equal(found.dataset_mask(), expected.dataset_mask())


def test_uncut_files_are_taken(whole_files: list[Path]) -> None:
    for file in whole_files:
        assert recipe_of(str(file)).has_mask


@settings(
    max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(st.integers(0, 3), st.integers(0, 10_000), st.binary(min_size=1, max_size=8))
def test_a_damaged_header_is_refused_or_planned_and_never_crashes(
    whole_files: list[Path], tmp_path: Path, number: int, position: int, junk: bytes
) -> None:
    data = bytearray(whole_files[number].read_bytes())
    (start,) = struct.unpack_from("<I", data, 4)
    position = (start if number != 3 else 8) + position % 400
    data[position : position + len(junk)] = junk
    damaged = tmp_path / "damaged.tif"
    damaged.write_bytes(data)
    try:
        plan_scene([str(damaged)], AUTO)
    except InputError as error:
        assert str(damaged) in str(error)  # noqa: PT017


def test_times(tmp_path: Path) -> None:
    source = write_raster(tmp_path / "a.tif")

    def time(options: PlanOptions = AUTO, **tags: str) -> tuple[str | None, str]:
        with rasterio.open(source, "r+") as dataset:
            dataset.update_tags(**tags)
        plan = plan_scene([source], options)[0]
        return plan.datetime, plan.datetime_source

    assert time() == (None, "unknown")
    assert time(TIFFTAG_DATETIME="soon") == (None, "unknown")
    tiff = ("2020-01-02T03:04:05Z", "tag:TIFFTAG_DATETIME")
    assert time(TIFFTAG_DATETIME="2020:01:02 03:04:05") == tiff
    acquired = ("2020-01-01T10:00:00Z", "tag:ACQUISITION_DATETIME")
    assert time(ACQUISITION_DATETIME="2020-01-01T12:00:00+02:00") == acquired
    asked = replace(AUTO, datetime="2021-01-01")
    assert time(asked) == ("2021-01-01T12:00:00Z", "option")


def test_colour_interpretation_without_alpha_name(tmp_path: Path) -> None:
    """A fourth band that is near infrared stays what it is."""
    source = write_raster(tmp_path / "a.tif", np.ones((4, 8, 8), "uint8"), photometric="MINISBLACK")
    with rasterio.open(source, "r+") as dataset:
        dataset.colorinterp = [ColorInterp.gray] + [ColorInterp.undefined] * 3
    recipe = recipe_of(source)
    assert (recipe.bands, recipe.has_mask) == (4, False)


@pytest.mark.parametrize(
    ("kinds", "words"),
    [
        ([ColorInterp.palette], "palette's classes"),
        ([ColorInterp.red, ColorInterp.green, ColorInterp.blue, ColorInterp.alpha], "alpha band"),
    ],
)
def test_jpeg_refuses_what_means_something_exactly(
    tmp_path: Path, kinds: list[ColorInterp], words: str
) -> None:
    source = tmp_path / "exact.tif"
    with rasterio.open(
        source, "w", driver="GTiff", width=64, height=64, count=len(kinds), dtype="uint8",
        crs="EPSG:32631", transform=rasterio.Affine(10, 0, 5e5, 0, -10, 5e6),
    ) as dataset:  # fmt: skip
        dataset.colorinterp = kinds
        if kinds == [ColorInterp.palette]:
            dataset.write_colormap(1, {0: (0, 0, 0, 255), 1: (255, 0, 0, 255)})
        dataset.write(np.ones((len(kinds), 64, 64), np.uint8))
    assert words in refused(str(source), PlanOptions(compress="jpeg"))
    assert recipe_of(str(source)).compress == "deflate"

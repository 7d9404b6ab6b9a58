"""Several sources through the whole engine: only those that touch a window are opened for it."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
import rasterio
from rasterio.warp import transform

from scenemosaic import job, keys
from scenemosaic.errors import InputError, SourceReadError
from scenemosaic.grids.grid import Window
from scenemosaic.planning import survey
from scenemosaic.plans.asked_again import options_of
from scenemosaic.plans.plan import PlanOptions
from scenemosaic.repair.restore_plan import load
from scenemosaic.repair.sources import find_sources
from scenemosaic.repair.waive import waive
from scenemosaic.sources import rasters as sources
from scenemosaic.windows import make_tile
from tests.compositing.scenes import Pixels, make, waves
from tests.jobs.conftest import local_place
from tests.jobs.places import MakePlace
from tests.mosaic.pictures import levels_of
from tests.repair.made import MAKER, WINDOW, Made
from tests.validators import assert_valid_cog

__all__ = ["local_place"]

MakeQuilt = Callable[..., tuple[Made, list[str], Pixels]]


@pytest.fixture
def quilt(local_place: MakePlace, tmp_path: Path) -> MakeQuilt:
    """A mosaic of 2 x 2 windows, each of a source of its own that reaches 8 pixels further."""

    def made(finished: bool = True, **asked: object) -> tuple[Made, list[str], Pixels]:
        whole = waves(128, 128).astype("uint16")
        given = [
            make(tmp_path / f"{n}.tif", whole[:, y : y + 72, x : x + 72], (y, x), nodata=0)
            for n, (y, x) in enumerate((y, x) for y in (0, 56) for x in (0, 56))
        ]
        place = local_place()
        options = PlanOptions(window=WINDOW, block_size=WINDOW, **asked)  # type: ignore[arg-type]
        spec = job.plan_job(given, place.root, place.manifest, options)
        job.prepare(spec)
        job.publish_plan(spec, MAKER)
        of = Made(place, spec, Path(given[0]))
        if finished:
            of.commit()
            of.assemble()
        return of, given, whole

    return made


def test_the_mosaic_is_the_whole_and_a_second_run_changes_nothing(quilt: MakeQuilt) -> None:
    made, given, whole = quilt(datetime="2024-05-01T00:00:00Z", collection="quilts")
    path = made.path(keys.mosaic_key(made.job_id))
    with rasterio.open(path) as dataset:
        assert np.array_equal(dataset.read(), whole)
    assert_valid_cog(path)
    item = made.item()["properties"]
    assert len(item["scenemosaic:sources"]) == 4
    before = made.place.versions()
    options = PlanOptions(
        window=WINDOW, block_size=WINDOW, datetime="2024-05-01T00:00:00Z", collection="quilts"
    )
    again = job.plan_job(given, made.place.root, made.place.manifest, options)
    assert job.finished(again) is not None
    assert made.place.versions() == before
    loaded = job.load_job(made.job_id, made.spec.root, made.spec.manifest)
    assert loaded.plan == made.spec.plan


@pytest.mark.parametrize(("method", "most"), [("first", 1), ("max", 4)])
def test_only_what_touches_a_window_is_opened(quilt: MakeQuilt, method: str, most: int) -> None:
    made, given, _ = quilt(finished=False, method=method)
    opened: list[str] = []
    real = sources.open_source

    def open_source(location: str) -> rasterio.DatasetReader:
        opened.append(location)
        return real(location)

    sources.close_sources()
    with patch.object(sources, "open_source", open_source):
        make_tile(made.spec, made.spec.plan.recipe.tiling().window(0))
    # The first source fills its window; that of the largest value is not known without the rest.
    assert len(opened) == most
    assert given[0] in opened


def test_a_source_that_changed_fails_its_windows_alone(quilt: MakeQuilt) -> None:
    made, given, _ = quilt(finished=False)
    with rasterio.open(given[3], "r+") as dataset:
        dataset.write(dataset.read() + 1)
    result = job.commit_windows(made.spec, range(4), MAKER)
    states = {one.window: one.outcome for one in result.outcomes}
    assert states == {
        "0000_0000": "written",
        "0000_0001": "written",
        "0001_0000": "written",
        "0001_0001": "failed",
    }
    assert given[3] in str(result.outcomes[3].error)


def test_kernels_that_reach_read_beyond_their_window(quilt: MakeQuilt) -> None:
    made, _, whole = quilt(resampling="cubic", crs="EPSG:32631")
    single = replace_sources(made, whole)
    with (
        rasterio.open(made.path(keys.mosaic_key(made.job_id)), overview_level=0) as ours,
        rasterio.open(single, overview_level=0) as other,
    ):
        assert np.array_equal(ours.read(), other.read())


def replace_sources(made: Made, whole: Pixels) -> Path:
    """The mosaic of the same pixels as one source, without a merge."""
    source = make(made.scene.parent / "whole.tif", whole, nodata=0)
    options = PlanOptions(window=WINDOW, block_size=WINDOW, resampling="cubic")
    spec = job.plan_job([source], made.place.root, made.place.manifest, options)
    job.prepare(spec)
    job.publish_plan(spec, MAKER)
    other = Made(made.place, spec, Path(source))
    other.commit()
    other.assemble()
    return other.path(keys.mosaic_key(other.job_id))


def test_a_repair_takes_sources_in_any_order(quilt: MakeQuilt) -> None:
    made, given, _ = quilt(method="mean")
    key = made.tile_key("0001_0001")
    tile = made.read(key)
    made.damage(key)
    report = made.repair(sources=given[::-1])
    assert [one.outcome for one in report.windows] == ["written"]
    assert made.read(key) == tile


def test_a_lost_plan_is_found_again(quilt: MakeQuilt) -> None:
    made, given, _ = quilt()
    made.delete(keys.plan_key(made.job_id))
    spec, restored = load(made.job_id, made.spec.place, given, MAKER)
    assert restored
    assert spec.plan == made.spec.plan


def test_sources_are_told_apart_by_content(quilt: MakeQuilt) -> None:
    made, given, _ = quilt(finished=False, method="max")
    bare = replace(made.spec, locations=())
    assert find_sources(bare, given[::-1]) == made.spec.locations
    with rasterio.open(given[0], "r+") as dataset:
        dataset.write(dataset.read() + 1)
    assert find_sources(bare, given[::-1]) == made.spec.locations
    with pytest.raises(InputError, match="4 sources, and 3 were given"):
        find_sources(bare, given[1:])


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"method": "median", "crs": "EPSG:4326", "warp_resampling": "cubic"},
        {"method": "count", "bounds": (500_100.0, 3_999_000.0, 500_500.0, 3_999_900.0)},
        {"resolution": (7.0, 9.0)},
    ],
)
def test_what_was_decided_can_be_asked_for(quilt: MakeQuilt, asked: dict[str, object]) -> None:
    made, given, _ = quilt(finished=False, **asked)
    plan = made.spec.plan
    assert survey(given, options_of(plan)).plan.job_id == plan.job_id


def test_a_waived_window_needs_no_source(quilt: MakeQuilt) -> None:
    made, _, _ = quilt(finished=False)
    made.commit("0001_0001")
    for path in made.scene.parent.glob("?.tif"):
        path.unlink()
    bare = replace(made.spec, locations=())
    waived = waive(bare, ["0001_0001"], "the scene is lost", MAKER)
    assert [one.outcome for one in waived] == ["written"]
    made.assemble()
    with rasterio.open(made.path(keys.mosaic_key(made.job_id))) as dataset:
        assert not dataset.read()[0, 64:, 64:].any()
    assert json.dumps(made.item()).count("the scene is lost") == 1


def test_the_span_of_the_sources_times(tmp_path: Path) -> None:
    given = []
    for day in (3, 1, 2):
        given.append(make(tmp_path / f"{day}.tif", waves(8, 8, seed=day).astype("uint16")))
        with rasterio.open(given[-1], "r+") as dataset:
            dataset.update_tags(TIFFTAG_DATETIME=f"2024:05:0{day} 10:00:00")
    plan = survey(given, PlanOptions(method="max")).plan
    assert (plan.start_datetime, plan.datetime) == ("2024-05-01T10:00:00Z", "2024-05-03T10:00:00Z")
    assert plan.datetime_source == "tag:TIFFTAG_DATETIME"
    asked = survey(given, PlanOptions(datetime="2024-06-01")).plan
    assert (asked.start_datetime, asked.datetime_source) == (None, "option")


def test_a_window_names_itself_where_a_source_does_not_decode(quilt: MakeQuilt) -> None:
    made, given, _ = quilt(finished=False)
    window = Window(7, 9, 0, 0, 10, 10)
    Path(given[0]).write_bytes(Path(given[0]).read_bytes()[:300])
    sources.close_sources()
    with pytest.raises(SourceReadError) as caught:
        make_tile(made.spec, window)
    assert given[0] in str(caught.value)


def test_two_zones_by_windows_of_512_and_2048(local_place: MakePlace, tmp_path: Path) -> None:
    """Whole mosaics of overlapping scenes of two UTM zones: every level is the same."""
    x, y = transform("EPSG:32632", "EPSG:32631", [300_000], [5_000_000])
    origin = (round(x[0], -1) - 12_000, round(y[0], -1) + 900)
    given = [
        make(tmp_path / "west.tif", waves(1300, 1500).astype("uint16"), origin=origin, nodata=0),
        make(tmp_path / "east.tif", waves(1200, 1250, seed=5).astype("uint16"),
             origin=(300_000.0, 5_000_000.0), nodata=0, crs="EPSG:32632"),
    ]  # fmt: skip
    mosaics = []
    for window in (512, 2048):
        place = local_place()
        options = PlanOptions(window=window, block_size=256, method="mean")
        spec = job.plan_job(given, place.root, place.manifest, options)
        assert max(spec.plan.recipe.grid.width, spec.plan.recipe.grid.height) > 2048
        job.prepare(spec)
        job.commit_windows(spec, job.missing_windows(spec), MAKER)
        job.assemble(spec, MAKER)
        mosaics.append(
            levels_of(Made(place, spec, tmp_path).path(keys.mosaic_key(spec.plan.job_id)))
        )
    one, other = mosaics
    assert (one[0][1] > 0).mean() > 0.5
    for (pixels, mask), (others, bits) in zip(one, other, strict=True):
        assert np.array_equal(pixels, others)
        assert np.array_equal(mask, bits)


def test_a_pixel_without_a_value_never_becomes_zero_unsaid(
    local_place: MakePlace, tmp_path: Path
) -> None:
    """Not a number in an integer mosaic that has neither nodata nor mask: the window fails."""
    pixels = waves(64, 64).astype("float32")
    pixels[0, 20, 20] = np.nan
    source, place = make(tmp_path / "hole.tif", pixels), local_place()
    bounds = (500_000.0, 4_000_000.0 - 640, 500_640.0, 4_000_000.0)
    options = PlanOptions(window=WINDOW, block_size=WINDOW, dtype="uint16", bounds=bounds)
    spec = job.plan_job([source], place.root, place.manifest, options)
    job.prepare(spec)
    (outcome,) = job.commit_windows(spec, [0], MAKER).outcomes
    assert outcome.outcome == "failed"
    assert outcome.error is not None
    assert "--nodata" in outcome.error

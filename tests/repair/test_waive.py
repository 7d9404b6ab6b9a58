"""Bad source for good: an operator lets windows hold nodata, and everything says so."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rasterio
from hypothesis import given
from hypothesis import strategies as st

from scenemosaic import job, keys
from scenemosaic.errors import ConflictError, InputError
from scenemosaic.planning import PlanOptions
from scenemosaic.repair.waive import MAX_REASON, check_reason, waive
from scenemosaic.stores.port import Body, IfAbsent
from scenemosaic.verification.verify import verify
from tests.jobs.places import MakePlace
from tests.repair.conftest import MakeJob
from tests.repair.made import MAKER, OTHER, WINDOW, Made, make
from tests.validators import assert_valid_cog

FIRST, NAME, OTHER_NAME = "0000_0000", "0001_0001", "0002_0002"
REASON = "the provider lost the strip: wird nie geliefert — \u2603"


def pixels_of(made: Made, revision: int, folder: Path) -> Any:
    path = folder / f"{revision}.tif"
    path.write_bytes(made.read(keys.mosaic_key(made.job_id, revision)))
    assert_valid_cog(path)
    with rasterio.open(path) as dataset:
        return dataset.read()


def source_of(made: Made) -> Any:
    with rasterio.open(made.scene) as dataset:
        return dataset.read()


def test_a_waived_window_lets_assembly_go_on(make_job: MakeJob, tmp_path: Path) -> None:
    made = make_job(NAME, OTHER_NAME)
    waived = waive(made.spec, [NAME, OTHER_NAME], f"  {REASON}\n", OTHER)
    assert [(one.window, one.outcome) for one in waived] == [
        (NAME, "written"),
        (OTHER_NAME, "written"),
    ]
    row = made.row(NAME)
    assert row is not None
    assert row.waiver == REASON
    made.row_describes(NAME)
    mosaic = made.assemble()
    assert mosaic.revision == 0
    item = made.item()["properties"]
    assert item["scenemosaic:waived"] == {NAME: REASON, OTHER_NAME: REASON}
    records = made.records("waived")
    assert [(one.key, one.details) for one in records] == [
        (made.tile_key(NAME), {"reason": REASON}),
        (made.tile_key(OTHER_NAME), {"reason": REASON}),
    ]
    report = verify(made.spec)
    assert (report.findings, report.waived) == ((), (NAME, OTHER_NAME))
    expected = source_of(made)
    for name in (NAME, OTHER_NAME):
        window = made.spec.plan.recipe.tiling().window(made.number(name))
        expected[:, window.y0 : window.y1, window.x0 : window.x1] = 0
    assert np.array_equal(pixels_of(made, 0, tmp_path), expected)


def test_a_named_repair_ends_the_waiver(make_job: MakeJob, tmp_path: Path) -> None:
    made = make_job(NAME)
    waive(made.spec, [NAME], REASON, OTHER)
    made.assemble()
    report = made.repair(NAME)
    assert report.mosaic is not None
    assert (report.state, report.windows[0].outcome, report.mosaic.revision) == (
        *("Repaired", "written"),
        1,
    )
    row = made.row(NAME)
    assert row is not None
    assert row.waiver is None
    assert "scenemosaic:waived" not in made.item()["properties"]
    assert np.array_equal(pixels_of(made, 1, tmp_path), source_of(made))
    (kept,) = made.records("replacing")
    former: Any = kept.details["former_row"]
    assert former["waiver"] == REASON


def test_a_repair_of_all_leaves_a_waiver_alone_and_mends_its_tile(make_job: MakeJob) -> None:
    made = make_job(NAME)
    waive(made.spec, [NAME], REASON, OTHER)
    made.assemble()
    tile = made.read(made.tile_key(NAME))
    assert made.repair().state == "NothingToRepair"
    made.damage(made.tile_key(NAME))
    assert made.repair().windows[0].outcome == "written"
    assert made.read(made.tile_key(NAME)) == tile
    row = made.row(NAME)
    assert row is not None
    assert row.waiver == REASON
    assert verify(made.spec).findings == ()


def test_a_window_that_has_a_row_is_refused_and_nothing_is_written(make_job: MakeJob) -> None:
    made = make_job(NAME)
    before = made.place.versions()
    with pytest.raises(
        InputError, match=f"{FIRST}.*repair {made.job_id} --window {FIRST} --to"
    ) as caught:
        waive(made.spec, [NAME, FIRST], REASON, OTHER)
    assert caught.value.exit_code == 2
    assert made.place.versions() == before
    assert made.row(NAME) is None


def test_the_same_waiver_again_changes_nothing_and_another_is_refused(make_job: MakeJob) -> None:
    made = make_job(NAME)
    waive(made.spec, [NAME], REASON, OTHER)
    before, row = made.place.versions(), made.row(NAME)
    assert waive(made.spec, [NAME], REASON, MAKER)[0].outcome == "already-present"
    with pytest.raises(InputError, match="waived: the provider"):
        waive(made.spec, [NAME], "another reason", MAKER)
    assert (made.place.versions(), made.row(NAME)) == (before, row)


@pytest.mark.parametrize("name", ["0009_0000", "9_0", "mosaic", "x"])
def test_an_unknown_window_is_refused(local_place: MakePlace, small_scene: Path, name: str) -> None:
    made = make(local_place(), small_scene, NAME)
    with pytest.raises(InputError, match="no window"):
        waive(made.spec, [NAME, name], REASON, OTHER)
    assert made.row(NAME) is None


@pytest.mark.parametrize("reason", ["", "  ", "a\nb", "a\x07", "x" * (MAX_REASON + 1)])
def test_a_reason_that_is_none_is_refused(reason: str) -> None:
    with pytest.raises(InputError, match="a reason is 1 to 500"):
        check_reason(reason)


@given(st.text(st.characters(categories=("L", "N", "P", "S")), min_size=1, max_size=MAX_REASON))
def test_any_printable_reason_is_taken(reason: str) -> None:
    assert check_reason(f" {reason} ") == reason


def test_a_tile_that_lost_its_row_is_no_place_for_a_waiver(make_job: MakeJob) -> None:
    made = make_job(NAME)
    tile = made.tile(NAME)
    session = made.session
    metadata = session.metadata(made.spec, OTHER, NAME, sha256=tile.sha256)
    body = Body(tile.data, tile.sha256, keys.TIFF_CONTENT_TYPE, metadata)
    session.store.put(made.tile_key(NAME), body, IfAbsent())
    with pytest.raises(
        ConflictError, match=r"without a row.*repair [0-9a-f]{32} --window 0001_0001 --to"
    ):
        waive(made.spec, [NAME], REASON, MAKER)
    assert made.row(NAME) is None
    assert made.repair(NAME).windows[0].mended
    made.row_describes(NAME)


def test_the_first_window_takes_its_metadata_from_the_source(
    local_place: MakePlace, small_scene: Path
) -> None:
    made = make(local_place(), small_scene, FIRST)
    without = job.load_job(made.job_id, made.spec.root, made.spec.manifest)
    with pytest.raises(InputError, match=r"tiles/.*0000_0000\.tif has no row.*--source"):
        waive(without, [FIRST], REASON, OTHER)
    waive(made.spec, [FIRST], REASON, OTHER)
    made.assemble()
    with (
        rasterio.open(made.scene) as source,
        rasterio.open(made.path(keys.mosaic_key(made.job_id))) as mosaic,
    ):
        assert (mosaic.transform, mosaic.crs, mosaic.nodata) == (
            *(source.transform, source.crs),
            source.nodata,
        )


KINDS: dict[str, dict[str, Any]] = {
    "no-nodata": {"dtype": "uint8", "nodata": None, "count": 1},
    "nan": {"dtype": "float32", "nodata": float("nan"), "count": 2},
    "negative": {"dtype": "int16", "nodata": -9999, "count": 1},
    "alpha": {"dtype": "uint8", "nodata": None, "count": 4, "photometric": "RGB", "alpha": "YES"},
    "mask": {"dtype": "uint8", "nodata": None, "count": 3},
    "complex": {"dtype": "complex64", "nodata": None, "count": 1},
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_waived_window_holds_what_means_nodata(
    local_place: MakePlace, tmp_path: Path, kind: str
) -> None:
    scene, place = tmp_path / "scene.tif", local_place()
    _write(scene, kind)
    spec = job.plan_job(
        [str(scene)], place.root, place.manifest, PlanOptions(window=WINDOW, block_size=WINDOW)
    )
    job.prepare(spec)
    job.publish_plan(spec, MAKER)
    made = Made(place, spec, scene)
    made.commit("0000_0001")
    waive(spec, ["0000_0001"], REASON, OTHER)
    made.assemble()
    assert verify(spec, deep=True).findings == ()
    with rasterio.open(made.path(keys.mosaic_key(made.job_id))) as dataset:
        pixels, mask = dataset.read()[..., WINDOW:], dataset.dataset_mask()[:, WINDOW:]
    nodata = KINDS[kind]["nodata"]
    fill = 0 if nodata is None else nodata
    assert np.array_equal(pixels, np.full_like(pixels, fill), equal_nan=pixels.dtype.kind in "fc")
    transparent = nodata is not None or kind in ("alpha", "mask")
    assert set(np.unique(mask)) == ({0} if transparent else {255})


def _write(path: Path, kind: str) -> None:
    options = {"driver": "GTiff", "height": WINDOW, "width": 2 * WINDOW, "crs": "EPSG:32631"}
    options |= {"transform": rasterio.Affine(10, 0, 5e5, 0, -10, 5e6), **KINDS[kind]}
    shape = (KINDS[kind]["count"], WINDOW, 2 * WINDOW)
    pixels = np.random.default_rng(0).integers(1, 200, shape).astype(KINDS[kind]["dtype"])
    with rasterio.Env(GDAL_TIFF_INTERNAL_MASK="YES"), rasterio.open(path, "w", **options) as made:
        made.write(pixels)
        if kind == "mask":
            made.write_mask(np.full(shape[1:], 255, np.uint8))

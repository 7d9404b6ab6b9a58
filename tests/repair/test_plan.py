"""``plan.json`` of a finished job, gone or damaged: planned again from its source, and put back."""

import dataclasses
import hashlib
import shutil
from pathlib import Path
from typing import Any

import pytest
import rasterio

from scenemosaic import job, keys, stored_plan
from scenemosaic.auditing import audit
from scenemosaic.errors import InputError, KeyHasHistory, PlanLost, SourceChanged, Superseded
from scenemosaic.grids.grid import Grid
from scenemosaic.planning import PlanOptions
from scenemosaic.plans.pin import Pin
from scenemosaic.plans.plan import Plan
from scenemosaic.recipes.recipe import ENCODING, FIRST_ENCODING, Recipe
from scenemosaic.repair import restore_plan
from scenemosaic.repair.plan_again import options_shown, plan_like
from scenemosaic.stores.port import Store
from scenemosaic.tiff.ifd import BadTiff
from scenemosaic.verification.verify import verify
from tests.compositing.scenes import make as made_scene
from tests.compositing.scenes import waves
from tests.faults.stores import InterveningStore
from tests.jobs.conftest import write_scene
from tests.jobs.places import MakePlace
from tests.repair.made import MAKER, REPAIRER, Made, make
from tests.repair.test_commands import command

STRICT = dataclasses.replace(REPAIRER, strict_history=True)


def lose(made: Made, how: str) -> None:
    key = keys.plan_key(made.job_id)
    if how == "gone":
        made.delete(key)
    else:
        made.overwrite(key, b'{"recipe":{}}')


def load(made: Made, *sources: str, run: Any = REPAIRER) -> restore_plan.Loaded:
    return restore_plan.load(made.job_id, made.spec.place, sources, run)


@pytest.mark.parametrize("how", ["gone", "damaged"])
def test_it_is_put_back_to_the_letter(done: Made, how: str) -> None:
    key = keys.plan_key(done.job_id)
    before, others = done.read(key), done.place.versions()
    lose(done, how)
    assert {one.kind.value for one in verify(done.spec).findings} == {"plan"}
    spec, restored = load(done, str(done.scene))
    assert (restored, spec.plan) == (True, done.spec.plan)
    assert done.read(key) == before
    assert verify(done.spec).findings == ()
    (kept,) = done.records("plan-restored")
    former: Any = kept.details["former_object"]
    assert (former is None) == (how == "gone")
    assert load(done) == (spec, False)
    if how == "gone" and done.session.store.capabilities.delete_markers:
        assert len(done.records("created-over-delete-marker")) == 1
    else:
        assert {name: done.place.versions()[name] for name in others if name != key} == {
            name: digests for name, digests in others.items() if name != key
        }


@pytest.fixture
def local_job(local_place: MakePlace, small_scene: Path, tmp_path: Path) -> Made:
    scene = tmp_path / "scene.tif"
    shutil.copy(small_scene, scene)
    return make(local_place(), scene)


def test_one_that_is_too_large_is_lost_too(
    local_job: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = local_job.read(keys.plan_key(local_job.job_id))
    monkeypatch.setattr(stored_plan, "MAX_PLAN_BYTES", len(before) - 1)
    with pytest.raises(PlanLost, match=f"too large for a plan: {len(before) - 1} bytes at most"):
        stored_plan.read_plan(local_job.spec.place, local_job.job_id)
    monkeypatch.setattr(stored_plan, "MAX_PLAN_BYTES", len(before))
    assert stored_plan.read_plan(local_job.spec.place, local_job.job_id) == local_job.spec.plan


def test_the_command_puts_it_back_and_repairs_the_rest(local_job: Made) -> None:
    lose(local_job, "gone")
    local_job.damage(local_job.tile_key("0001_0001"))
    unsaid = command(local_job, "repair", "--json")
    assert unsaid.code == 2
    assert "say with --source" in unsaid.value()["error"]["message"]
    answer = command(local_job, "repair", "--source", "scene.tif", "--json")
    assert answer.code == 0, answer.err
    value = answer.value()
    assert (value["state"], value["written"], value["plan_restored"]) == ("Repaired", 1, True)
    lose(local_job, "damaged")
    text = command(local_job, "repair", "--source", "scene.tif")
    assert (text.code, "plan.json put back" in text.out) == (0, True)
    assert command(local_job, "verify").code == 0


def test_another_source_is_refused_by_name(local_job: Made) -> None:
    lose(local_job, "gone")
    before = local_job.place.versions()
    write_scene(local_job.scene, 192, 192, seed=7)
    with pytest.raises(SourceChanged, match="restore the source") as caught:
        load(local_job, str(local_job.scene))
    assert caught.value.exit_code == 2
    said = str(caught.value)
    for part in (
        local_job.job_id,
        str(local_job.spec.plan.sources[0].sha256),
        hashlib.sha256(local_job.scene.read_bytes()).hexdigest(),
    ):
        assert part in said
    assert local_job.place.versions() == before
    assert list(audit.read(local_job.session, local_job.job_id)) == []


def test_options_that_nothing_shows_are_refused(local_job: Made) -> None:
    """Tiles and mosaic were expired or lost, and the item does not say how blocks were packed."""
    lose(local_job, "gone")
    for info in [
        *local_job.session.store.list("tiles/"),
        *local_job.session.store.list("mosaics/"),
    ]:
        if info.key.endswith(".tif"):
            local_job.delete(info.key)
    before = local_job.place.versions()
    with pytest.raises(InputError, match="was asked for otherwise") as caught:
        load(local_job, str(local_job.scene))
    assert caught.value.exit_code == 2
    assert local_job.place.versions() == before


def test_the_same_sources_in_another_order_are_no_others(
    local_place: MakePlace, tmp_path: Path
) -> None:
    place = local_place()
    sources = [
        made_scene(tmp_path / f"{n}.tif", waves(32, 32, seed=n).astype("uint16"), (0, 32 * n))
        for n in range(3)
    ]
    spec = job.plan_job(sources, place.root, place.manifest, PlanOptions(method="max"))
    job.prepare(spec)
    job.publish_plan(spec, MAKER)
    job.commit_windows(spec, job.missing_windows(spec), MAKER)
    job.assemble(spec, MAKER)
    made = Made(place, spec, tmp_path)
    lose(made, "gone")
    assert load(made, *sources[::-1])[0].plan == spec.plan
    lose(made, "gone")
    write_scene(Path(sources[0]), 32, 32)
    with pytest.raises(SourceChanged, match="restore the source"):
        load(made, *sources)


def test_a_job_that_never_was_is_not_made(local_job: Made) -> None:
    place = local_job.spec.place
    with pytest.raises(InputError, match="holds no job"):
        restore_plan.load("0" * 32, place, [str(local_job.scene)], REPAIRER)


def test_a_strict_run_does_not_create_it_over_a_delete_marker(
    s3_place: MakePlace, small_scene: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = s3_place()
    for name, value in place.env.items():
        monkeypatch.setenv(name, value)
    made = make(place, small_scene)
    lose(made, "gone")
    with pytest.raises(KeyHasHistory):
        load(made, str(made.scene), run=STRICT)
    assert made.session.store.head(keys.plan_key(made.job_id)) is None


def test_whoever_was_faster_is_left_alone(local_job: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    key = keys.plan_key(local_job.job_id)
    sound = local_job.read(key)

    def on(act: Any) -> None:
        real = restore_plan.open_session

        def rival(spec: Any) -> Any:
            session = real(spec)
            store: Store = InterveningStore(session.store, lambda n: act() if n == 1 else None)
            return dataclasses.replace(session, store=store)

        monkeypatch.setattr(restore_plan, "open_session", rival)

    lose(local_job, "gone")
    with monkeypatch.context():
        on(lambda: job.publish_plan(local_job.spec, MAKER))
        assert load(local_job, str(local_job.scene))[0].plan == local_job.spec.plan
    monkeypatch.undo()
    assert local_job.read(key) == sound
    lose(local_job, "damaged")
    on(lambda: local_job.delete(key))
    with pytest.raises(Superseded, match="changed by somebody else"):
        load(local_job, str(local_job.scene))


OPTIONS = [
    PlanOptions(),
    PlanOptions(window=128, block_size=64, compress="zstd", level=7, resampling="nearest"),
    PlanOptions(window=192, block_size=32, compress="lzw", resampling="rms"),
    PlanOptions(window=512, compress="none", collection="c", datetime="2024-05-01T10:20:30Z"),
    PlanOptions(window=64, block_size=64, compress="deflate", predictor=1, level=12),
    PlanOptions(window=64, block_size=64, compress="deflate", effort="small"),
]


@pytest.mark.parametrize("options", OPTIONS)
def test_options_need_not_be_known(
    local_place: MakePlace, small_scene: Path, options: PlanOptions
) -> None:
    """What the files show is read, and what they do not show is found by the job's ID."""
    place = local_place()
    spec = job.plan_job([str(small_scene)], place.root, place.manifest, options)
    job.prepare(spec)
    job.publish_plan(spec, MAKER)
    job.commit_windows(spec, job.missing_windows(spec), MAKER)
    job.assemble(spec, MAKER)
    made = Made(place, spec, small_scene)
    lose(made, "gone")
    assert load(made, str(small_scene))[0].plan == spec.plan


def test_of_several_bands_the_interleaving_shows(local_place: MakePlace, tmp_path: Path) -> None:
    scene, place = write_scene(tmp_path / "scene.tif", 100, 100, bands=3), local_place()
    for interleave in ("pixel", "band"):
        options = PlanOptions(window=64, block_size=64, interleave=interleave)
        spec = job.plan_job([str(scene)], place.root, place.manifest, options)
        job.prepare(spec)
        job.publish_plan(spec, MAKER)
        job.commit_windows(spec, [0], MAKER)
        made = Made(place, spec, scene)
        lose(made, "gone")
        # Not finished: what stands shows enough of it all the same.
        assert load(made, str(scene))[0].plan == spec.plan


def test_a_file_of_others_shows_nothing(tmp_path: Path) -> None:
    path = tmp_path / "strips.tif"
    with rasterio.open(
        path, "w", driver="GTiff", width=8, height=8, count=1, dtype="uint8", crs="EPSG:32631",
        transform=rasterio.Affine(10, 0, 5e5, 0, -10, 5e6), tiled=False,
    ):  # fmt: skip
        pass
    for data in (path.read_bytes(), b"II*\0", b""):
        with pytest.raises(BadTiff):
            options_shown(data)


def test_no_plan_is_like_one_of_another_source(local_job: Made) -> None:
    assert plan_like(local_job.spec.plan, local_job.job_id) == local_job.spec.plan
    assert plan_like(local_job.spec.plan, "0" * 32) is None


def test_plans_of_an_earlier_version_are_found() -> None:
    grid = Grid("EPSG:32631", (10.0, 0.0, 5e5, 0.0, -10.0, 5e6), 900, 700)
    now = Recipe(
        grid, "uint8", 3, None, False, 512, compress="jpeg", photometric="ycbcr",
        encoding_version=ENCODING,
    )  # fmt: skip
    earlier = dataclasses.replace(now, photometric=None, encoding_version=FIRST_ENCODING, level=80)
    pins = (Pin(None, "0" * 64, None, None, 1),)
    wanted = Plan(pins, earlier)
    assert plan_like(Plan(pins, now), wanted.job_id) == wanted

"""A late scene costs its own windows: the others are taken over from the earlier job."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
import rasterio

from scenemosaic import job, keys
from scenemosaic.errors import InputError
from scenemosaic.job import JobSpec
from scenemosaic.plans.plan import PlanOptions
from scenemosaic.repair.waive import waive
from scenemosaic.reuse.likeness import same_windows
from scenemosaic.sources import rasters as sources
from tests.compositing.scenes import make, waves
from tests.flows.serving import run_command
from tests.jobs.conftest import local_place, make_place, s3_place
from tests.jobs.places import MakePlace, Place, client
from tests.repair.made import MAKER, OTHER, Made

__all__ = ["local_place", "make_place", "s3_place"]

WINDOW = 64
# A scene reaches so far into the windows around its own.
MORE = 8
Job = tuple[JobSpec, dict[str, int]]


@dataclass(frozen=True)
class Country:
    """Scenes of a window each, and a little larger: in row-major order."""

    scenes: list[str]
    rows: int
    cols: int
    place: Place

    def run(
        self, given: Sequence[str], place: Place | None = None, skip: str = "", **asked: Any
    ) -> Job:
        """A whole job; its windows' counters. One may be skipped, and is waived."""
        spec = self.plan(given, place, **asked)
        job.prepare(spec)
        job.publish_plan(spec, MAKER)
        skipped = {spec.plan.recipe.tiling().number(skip)} if skip else set()
        done = job.commit_windows(spec, set(job.missing_windows(spec)) - skipped, MAKER)
        if skip:
            waive(spec, [skip], "clouds", OTHER)
        assert job.assemble(spec, MAKER).outcome == "written"
        return spec, dict(done.counters)

    def plan(self, given: Sequence[str], place: Place | None = None, **asked: Any) -> JobSpec:
        at = place or self.place
        return job.plan_job(given, at.root, at.manifest, PlanOptions(**asked))

    def first(self, given: Sequence[str], place: Place | None = None, **asked: Any) -> Job:
        """A job of its own, on the grid of the whole country."""
        x, y = 500_000.0, 4_000_000.0
        bounds = (x, y - 10 * WINDOW * self.rows, x + 10 * WINDOW * self.cols, y)
        wanted = {"window": WINDOW, "block_size": WINDOW, "bounds": bounds} | asked
        return self.run(given, place, **wanted)


@pytest.fixture
def make_country(
    make_place: MakePlace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[int, int], Country]:
    def made(rows: int, cols: int) -> Country:
        place = make_place()
        for name, value in place.env.items():
            monkeypatch.setenv(name, value)
        whole = waves(WINDOW * rows + MORE, WINDOW * cols + MORE).astype("uint16")
        side = WINDOW + MORE
        scenes = [
            make(tmp_path / f"{y}-{x}.tif", whole[:, y : y + side, x : x + side], (y, x), nodata=0)
            for y in range(0, rows * WINDOW, WINDOW)
            for x in range(0, cols * WINDOW, WINDOW)
        ]
        return Country(scenes, rows, cols, place)

    return made


@pytest.fixture
def country(make_country: Callable[[int, int], Country]) -> Country:
    """Six scenes."""
    return make_country(2, 3)


def opened(work: Callable[[], Job]) -> tuple[Job, set[str]]:
    """What a job comes to, and the sources of which pixels were read."""
    read: set[str] = set()
    real = sources.read_part

    def read_part(location: str, *given: Any, **more: Any) -> Any:
        read.add(location)
        return real(location, *given, **more)

    with patch("scenemosaic.compositing.layers.read_part", read_part):
        return work(), read


def bytes_of(spec: JobSpec, place: Place) -> dict[str, bytes]:
    made = Made(place, spec, Path())
    names = [window.name for window in spec.plan.recipe.tiling().windows()]
    wanted = [keys.tile_key(spec.plan.job_id, name) for name in names]
    return {key: made.read(key) for key in [*wanted, keys.mosaic_key(spec.plan.job_id)]}


def test_a_late_scene_costs_its_own_windows(
    make_country: Callable[[int, int], Country], make_place: MakePlace
) -> None:
    country = make_country(4, 5)
    late = country.scenes[7]  # in the second row: 1_2, and a strip of 1_3, 2_2 and 2_3
    early = [scene for scene in country.scenes if scene != late]
    old, _ = country.first(early)
    reuse = old.plan.job_id
    (spec, counters), read = opened(lambda: country.run(country.scenes, reuse=reuse))
    assert counters["reused"] == len(list(same_windows(spec.plan, old.plan))) == 16
    assert counters["written"] == len(country.scenes)
    # Four windows are computed: of their own scenes and of those that reach into them.
    around = {6, 7, 8, 1, 2, 3, 11, 12, 13}
    assert {late} <= read <= {country.scenes[number] for number in around}
    elsewhere = make_place()
    afresh, none = country.first(country.scenes, elsewhere)
    assert none["reused"] == 0
    assert afresh.plan == spec.plan
    assert bytes_of(spec, country.place) == bytes_of(afresh, elsewhere)
    for window in spec.plan.recipe.tiling().windows():
        Made(country.place, spec, Path()).row_describes(window.name)


def test_a_scene_less(country: Country) -> None:
    old, _ = country.first(country.scenes, method="max")
    spec, counters = country.run(country.scenes[:-1], reuse=old.plan.job_id)
    assert spec.plan.recipe.merge is not None
    assert spec.plan.recipe.merge.method == "max"  # as in the earlier job
    assert counters["reused"] == len(country.scenes) - 1


def test_a_late_scene_off_the_grid(country: Country, tmp_path: Path) -> None:
    """It is warped; the others lie on the grid in both jobs, and are the same."""
    old, _ = country.first(country.scenes[:-1])
    x, y = 500_000.0 + 3, 4_000_000.0 - 3
    late = make(tmp_path / "off.tif", waves(50, 50).astype("uint16"), (70, 140), origin=(x, y),
                nodata=0)  # fmt: skip
    spec, counters = country.run([*country.scenes[:-1], late], reuse=old.plan.job_id)
    assert spec.plan.recipe.merge is not None
    assert spec.plan.recipe.merge.warp == "bilinear"
    assert counters["reused"] == len(country.scenes) - 1


def test_a_run_that_died_while_it_copied(country: Country) -> None:
    old, _ = country.first(country.scenes[:-1])
    spec = country.plan(country.scenes, reuse=old.plan.job_id)
    if country.place.root.startswith("s3://"):
        key = keys.tile_key(spec.plan.job_id, "0000_0000")
        where = Made(country.place, spec, Path())._at(key)
        client(country.place, "s3").create_multipart_upload(**where)
        assert country.place.uploads()
    spec, counters = country.run(country.scenes, reuse=old.plan.job_id)
    assert counters["reused"] == len(country.scenes) - 1
    assert country.place.uploads() == []
    again = job.commit_windows(spec, range(len(country.scenes)), OTHER)
    assert again.counters["already_present"] == len(country.scenes)


@pytest.mark.parametrize("harm", ["bytes", "gone", "row", "waived"])
def test_what_is_not_as_its_row_says_is_computed(
    country: Country, harm: str, make_place: MakePlace
) -> None:
    name = "0000_0000"
    old = country.first(country.scenes[:-1], skip=name if harm == "waived" else "")[0]
    made = Made(country.place, old, Path())
    if harm == "bytes":
        made.damage(made.tile_key(name))
    elif harm == "gone":
        remove(made, made.tile_key(name))
    elif harm == "row":
        row = made.row(name)
        assert row is not None
        made.session.manifest.replace(replace(row, blocks=None, revision=2), 1)
    spec, counters = country.run(country.scenes, reuse=old.plan.job_id)
    assert counters["reused"] == len(country.scenes) - 2
    elsewhere = make_place()
    afresh, _ = country.first(country.scenes, elsewhere)
    assert bytes_of(spec, country.place) == bytes_of(afresh, elsewhere)


def remove(made: Made, key: str) -> None:
    if made.place.root.startswith("s3://"):
        client(made.place, "s3").delete_object(**made._at(key))
    else:
        made.path(key).unlink()


def test_what_cannot_be_reused_is_refused_by_name(country: Country) -> None:
    old, _ = country.first(country.scenes[:2])
    plain, _ = country.run(country.scenes[:1], window=WINDOW, block_size=WINDOW)
    reuse, given = old.plan.job_id, country.scenes[:3]
    with pytest.raises(InputError, match=r"--reuse .* another compress"):
        country.plan(given, reuse=reuse, compress="zstd")
    with pytest.raises(InputError, match=r"another .*method"):
        country.plan(given, reuse=reuse, method="mean")
    for grid in (
        {"crs": "EPSG:4326"},
        {"resolution": (20.0,)},
        {"bounds": (499_000.0, 3_900_000.0, 501_000.0, 4_000_000.0)},
    ):
        with pytest.raises(InputError, match=r"--reuse .* another grid"):
            country.plan(given, reuse=reuse, **grid)
    with pytest.raises(InputError, match="one source as it stands"):
        country.plan(given, reuse=plain.plan.job_id)
    with pytest.raises(InputError, match="holds no job"):
        country.plan(given, reuse="0" * 32)


def test_the_command(country: Country, tmp_path: Path, prefect_server: str) -> None:
    old, _ = country.first(country.scenes[:-1])
    place = country.place
    given = ["process", *country.scenes, "--to", place.root, "--manifest", place.manifest]
    given += ["--reuse", old.plan.job_id]
    plan = run_command([*given, "--dry-run"], tmp_path, place.env)
    assert f"reuse    {len(country.scenes) - 1} of them from job {old.plan.job_id}" in plan.out, (
        plan.err
    )
    env = {**place.env, "PREFECT_API_URL": prefect_server}
    answer = run_command([*given, "--json"], tmp_path, env)
    assert answer.code == 0, answer.err
    value = json.loads(answer.out)
    assert (value["written"], value["counters"]["reused"]) == (
        len(country.scenes),
        len(country.scenes) - 1,
    )


def test_large_tiles_never_leave_the_store(s3_place: MakePlace, tmp_path: Path,
                                           monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    place = s3_place()
    for name, value in place.env.items():
        monkeypatch.setenv(name, value)
    noise = np.random.default_rng(0).integers(0, 2**16, (1, 2048, 2048)).astype("uint16")
    one, two = (make(tmp_path / f"{n}.tif", noise, (0, 2048 * n), nodata=0) for n in (0, 1))
    bounds = (500_000.0, 4_000_000.0 - 20_480, 540_960.0, 4_000_000.0)
    country = Country([one, two], 1, 2, place)
    old, _ = country.run([one], window=2048, bounds=bounds, method="first")
    spec, counters = country.run([one, two], reuse=old.plan.job_id)
    assert counters["reused"] == 1
    made = Made(place, spec, Path())
    assert "-" in made.stored(made.tile_key("0000_0000")).etag  # of a multipart upload
    made.row_describes("0000_0000")
    path = tmp_path / "mosaic.tif"
    path.write_bytes(made.read(keys.mosaic_key(made.job_id)))
    with rasterio.open(path) as dataset:
        assert np.array_equal(dataset.read(), np.concatenate([noise, noise], axis=2))

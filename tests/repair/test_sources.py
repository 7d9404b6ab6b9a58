"""Where a repair's pixels come from: the pinned source, and of that no more than is needed."""

import shutil
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from scenemosaic import job, keys
from scenemosaic.errors import InputError, SourceChanged
from scenemosaic.plans.asked_again import options_of
from scenemosaic.repair.sources import find_sources
from scenemosaic.sources import computed_bands as source_bands
from scenemosaic.verification.verify import verify
from tests.jobs.conftest import write_scene
from tests.jobs.places import MakePlace
from tests.repair.made import Made, make
from tests.repair.writing import other_bytes, write_live

NAME = "0001_0001"
ACROSS, BAD = 20, ("0000_0000", "0007_0012", "0019_0019")


@pytest.fixture
def local_job(local_place: MakePlace, small_scene: Path, tmp_path: Path) -> Made:
    """With a source of its own."""
    scene = tmp_path / "scene.tif"
    shutil.copy(small_scene, scene)
    return make(local_place(), scene)


def test_of_400_windows_as_many_are_read_as_are_repaired(
    local_place: MakePlace, tmp_path: Path
) -> None:
    made = make(local_place(), write_scene(tmp_path / "scene.tif", 64 * ACROSS, 64 * ACROSS))
    sound = made.read(keys.mosaic_key(made.job_id))
    for name in BAD:
        write_live(made, name, other_bytes(made, "0001_0000"))  # another window's pixels
    made.assemble()
    for name in BAD:
        made.damage(made.tile_key(name))
    real, read = source_bands.read_window, []

    def count(location: str, window: Any, pin: Any = None) -> Any:
        read.append(window.name)
        return real(location, window, pin)

    with mock.patch.object(source_bands, "read_window", count):
        report = made.repair()
    assert sorted(read) == list(BAD)
    assert report.mosaic is not None
    assert (report.count("written"), report.mosaic.revision) == (len(BAD), 2)
    assert made.read(keys.mosaic_key(made.job_id, 2)) == sound
    assert verify(made.spec).findings == ()


def test_a_local_files_place_is_asked_for(local_job: Made) -> None:
    local_job.damage(local_job.tile_key(NAME))
    with pytest.raises(InputError, match="say with --source where it lies") as caught:
        local_job.repair(sources=[])
    assert caught.value.exit_code == 2
    assert str(caught.value).startswith(f"damaged: 1 window ({NAME}); job {local_job.job_id} is of")
    assert local_job.records("replacing") == []


def test_a_copy_is_the_same_source(local_job: Made, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere.tif"
    local_job.scene.rename(elsewhere)
    local_job.damage(local_job.tile_key(NAME))
    assert local_job.repair(sources=[str(elsewhere)]).state == "Repaired"


@pytest.mark.parametrize("names", [(), (NAME,)])
def test_a_source_that_has_changed_is_refused(local_job: Made, names: tuple[str, ...]) -> None:
    local_job.damage(local_job.tile_key(NAME))
    before = local_job.place.versions()
    write_scene(local_job.scene, 192, 192, seed=9)
    with pytest.raises(SourceChanged, match=r"pinned .*, now .*--accept-new-source") as caught:
        local_job.repair(*names)
    assert caught.value.exit_code == 2
    assert local_job.place.versions() == before


def test_a_source_that_is_gone_is_refused(local_job: Made) -> None:
    local_job.damage(local_job.tile_key(NAME))
    local_job.scene.unlink()
    with pytest.raises(InputError, match=r"scene\.tif: cannot be read: No such file"):
        local_job.repair()


def test_too_many_sources_are_refused(local_job: Made) -> None:
    with pytest.raises(InputError, match="1 sources, and 2 were given"):
        find_sources(local_job.spec, ["a", "b"])


@pytest.mark.parametrize("compress", ["deflate", "zstd"])
def test_the_same_recipe_is_planned_for_another_source(
    local_place: MakePlace, small_scene: Path, tmp_path: Path, compress: str
) -> None:
    place = local_place()
    options = job.PlanOptions(
        window=128, block_size=64, compress=compress, resampling="mode",
        datetime="2024-05-01T10:20:30Z", collection="c",
    )  # fmt: skip
    old = job.plan_job([str(small_scene)], place.root, place.manifest, options).plan
    other = write_scene(tmp_path / "other.tif", 192, 192, seed=3)
    new = job.plan_job([str(other)], place.root, place.manifest, options_of(old)).plan
    assert (new.recipe, new.datetime, new.collection) == (old.recipe, old.datetime, old.collection)
    assert new.job_id != old.job_id
    again = job.plan_job([str(small_scene)], place.root, place.manifest, options_of(old)).plan
    assert again.job_id == old.job_id

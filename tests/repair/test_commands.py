"""``scenemosaic repair`` and ``waive`` as a user runs them."""

import os
import shutil
from pathlib import Path

import pytest

from scenemosaic import keys
from scenemosaic.verification.verify import verify
from tests.flows.serving import Answer, run_command
from tests.jobs.conftest import write_scene
from tests.jobs.places import MakePlace
from tests.repair.made import Made, make

NAME = "0001_0001"


@pytest.fixture
def made(local_place: MakePlace, small_scene: Path, tmp_path: Path) -> Made:
    scene = tmp_path / "scene.tif"
    shutil.copy(small_scene, scene)
    return make(local_place(), scene)


def command(made: Made, verb: str, *more: str, env: dict[str, str] | None = None) -> Answer:
    arguments = [verb, made.job_id, "--to", made.spec.root, "--manifest", made.spec.manifest]
    return run_command([*arguments, *more], made.scene.parent, env)


def test_repair_says_what_it_did(made: Made) -> None:
    made.damage(made.tile_key(NAME))
    absent = command(made, "repair", "--source", "nope.tif")
    assert (absent.code, absent.out) == (2, "")
    (line,) = absent.err.splitlines()
    assert "nope.tif: cannot be read: No such file" in line
    answer = command(
        made, "repair", "--source", "scene.tif", "--json", env={"SCENEMOSAIC_OPERATOR": "ann"}
    )
    assert answer.code == 0, answer.err
    value = answer.value()
    assert (value["state"], value["written"], value["unchanged"]) == ("Repaired", 1, 0)
    assert (value["superseded"], value["target_gone"], value["failed"]) == (0, 0, 0)
    assert value["windows"][0]["window"] == NAME
    assert value["mosaic"]["outcome"] == "already-present", "the same bytes: no new revision"
    assert (value["revision"], value["left"]) == (0, [])
    assert '"operator":"ann"' in made.read(f"audit/{made.job_id}/00000001.jsonl").decode()
    text = command(made, "repair")
    assert (text.code, "no window is wrong" in text.out) == (0, True)


def test_repair_of_the_mosaic_alone_says_what_was_wrong(made: Made) -> None:
    assert command(made, "publish").code == 0
    made.damage(keys.mosaic_key(made.job_id))
    text = command(made, "repair")
    assert text.code == 0, text.err
    assert "--source" not in text.err
    lines = text.out.splitlines()
    assert lines[1].startswith("wrong    mosaic: ")
    former = [line for line in lines if line.startswith("former")]
    assert former == [
        f"former   {keys.mosaic_key(made.job_id)} stays as it was, damaged, and is named no "
        "longer: item.json says where the mosaic is"
    ]
    assert "mosaic   r1/mosaic.tif is the newest" in command(made, "verify").out
    assert "earlier mosaics stay" in command(made, "status").out
    publish = f"scenemosaic publish {made.job_id} --to {made.spec.root}"
    assert lines[-1] == f"latest   latest.json names revision 0 still: {publish} moves it"
    assert command(made, "publish", "--slots", "2").code == 0
    assert "names revision" not in command(made, "repair").out


def test_a_window_is_named_in_short(made: Made) -> None:
    answer = command(made, "repair", "--window", "1_1", "--source", "scene.tif", "--json")
    assert (answer.code, answer.value()["windows"][0]["window"]) == (0, NAME)


def test_repair_of_a_changed_source_names_both_pins(made: Made) -> None:
    write_scene(made.scene, 192, 192, seed=4)
    answer = command(made, "repair", "--window", NAME, "--source", "scene.tif", "--json")
    assert answer.code == 2
    error = answer.value()["error"]
    assert error["kind"] == "source-changed"
    assert made.spec.plan.sources[0].sha256 in error["message"] or "bytes" in error["message"]
    assert "--accept-new-source" in answer.err
    assert "Traceback" not in answer.err


@pytest.mark.slow
def test_a_new_source_that_is_accepted_makes_a_new_job(made: Made, prefect_server: str) -> None:
    before = made.place.versions()
    write_scene(made.scene, 192, 192, seed=4)
    arguments = ("--window", NAME, "--source", "scene.tif", "--accept-new-source", "--json")
    answer = command(made, "repair", *arguments, env={"PREFECT_API_URL": prefect_server})
    assert answer.code == 0, answer.err
    value = answer.value()
    assert value["instead_of"] == made.job_id != value["new_job_id"] == value["job_id"]
    assert (value["written"], value["mosaic"]["outcome"]) == (9, "written")
    after = made.place.versions()
    assert {key: after[key] for key in before} == before, "the old job stays as it is"


def test_waive_assemble_repair(local_place: MakePlace, small_scene: Path, tmp_path: Path) -> None:
    scene = tmp_path / "scene.tif"
    shutil.copy(small_scene, scene)
    made = make(local_place(), scene, NAME)
    waived = command(made, "waive", "--window", NAME, "--reason", "clouds", "--json")
    assert waived.code == 0, waived.err
    assert waived.value() == {
        "job_id": made.job_id,
        "windows": [{"window": NAME, "outcome": "written"}],
        "reason": "clouds",
        "missing": [],
    }
    assert command(made, "assemble", "--json").value()["mosaic"]["outcome"] == "written"
    assert made.item()["properties"]["scenemosaic:waived"] == {NAME: "clouds"}
    repaired = command(made, "repair", "--window", NAME, "--source", "scene.tif", "--json")
    assert (repaired.code, repaired.value()["revision"]) == (0, 1)
    status = command(made, "status", "--json").value()
    assert status["mosaic"].endswith("/r1/mosaic.tif")
    assert status["finished"] is True
    assert verify(made.spec).findings == ()


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--window", "0000_0000", "--reason", "r"), "a window that has a row"),
        (("--window", "0009_0000", "--reason", "r"), "no window 0009_0000"),
        (("--window", "0000_0000", "--reason", " "), "a reason is"),
        (("--window", "0000_0000"), "--reason"),
        (("--reason", "r"), "--window"),
    ],
)
def test_waive_refuses(made: Made, more: tuple[str, ...], said: str) -> None:
    answer = command(made, "waive", *more)
    assert (answer.code, answer.out) == (2, "")
    assert said in answer.err
    assert os.linesep not in answer.err.strip()


def test_a_foreign_item_is_exit_4_for_everybody(made: Made) -> None:
    made.overwrite(f"mosaics/{made.job_id}/item.json", b"{}")
    for verb in ("status", "assemble", "repair"):
        answer = command(made, verb, "--json")
        assert (answer.code, answer.value()["error"]["kind"]) == (4, "foreign-object"), verb

"""``scenemosaic verify`` as a process: one JSON object, a table, and the exit codes."""

from pathlib import Path

import pytest

from scenemosaic import keys
from tests.flows.serving import Answer, run_command
from tests.jobs.places import MakePlace
from tests.verification.conftest import Finish
from tests.verification.damage import NAME, OTHER_NAME, Damage


def _run(damage: Damage, folder: Path, *more: str) -> Answer:
    place = damage.place
    command = ["verify", damage.job_id, "--to", place.root, "--manifest", place.manifest, *more]
    return run_command(command, folder, place.env)


def test_a_sound_job(damage: Damage, tmp_path: Path) -> None:
    answer = _run(damage, tmp_path, "--json", "--deep", "--workers", "2")
    value = answer.value()
    assert answer.code == 0, answer.err
    assert set(value) == {
        "job_id", "windows", "checked", "findings", "counts", "waived", "bytes", "seconds",
    }  # fmt: skip
    assert (value["job_id"], value["windows"], value["checked"]) == (damage.job_id, 9, 9)
    assert (value["findings"], value["counts"]) == ([], {})
    assert "9 of 9 windows" in answer.err
    assert "mosaic of" in answer.err


def test_what_is_off_is_exit_code_3(local_damage: Damage, tmp_path: Path) -> None:
    local_damage.delete(local_damage.tile())
    local_damage.put_foreign(keys.item_key(local_damage.job_id))
    answer = _run(local_damage, tmp_path, "--json")
    value = answer.value()
    assert answer.code == 3
    assert value["counts"] == {"missing-object": 1, "foreign-object": 1}
    first = value["findings"][0]
    assert (first["subject"], first["kind"]) == (NAME, "missing-object")
    assert local_damage.path(local_damage.tile()).as_uri() in first["detail"]
    text = _run(local_damage, tmp_path)
    assert text.code == 3
    lines = text.out.splitlines()
    repair = f"scenemosaic repair {local_damage.job_id} --to {local_damage.place.root}"
    assert lines[0] == f"Damaged: 1 window ({NAME}), the item. Next: {repair} [--source PATH]"
    assert lines[1].split()[:2] == [NAME, "missing-object"]
    assert "9 of 9 windows checked: 1 foreign-object, 1 missing-object" in lines[-1]


def test_named_windows(local_damage: Damage, tmp_path: Path) -> None:
    local_damage.delete(local_damage.tile())
    arguments = ("--json", "--window", OTHER_NAME, "--window", "0002_0002")
    sound = _run(local_damage, tmp_path, *arguments)
    assert (sound.code, sound.value()["checked"]) == (0, 2)
    assert _run(local_damage, tmp_path, "--window", NAME).code == 3


def test_bad_usage_is_exit_code_2(local_damage: Damage, tmp_path: Path) -> None:
    outside = _run(local_damage, tmp_path, "--json", "--window", "0009_0009")
    assert (outside.code, outside.value()["error"]["kind"]) == (2, "input")
    unknown = run_command(
        ["verify", "ab" * 16, "--to", local_damage.place.root, "--json"], tmp_path
    )
    assert (unknown.code, unknown.value()["exit_code"]) == (2, 2)
    assert "holds no job" in unknown.err


def test_a_damaged_plan(local_damage: Damage, tmp_path: Path) -> None:
    local_damage.flip(keys.plan_key(local_damage.job_id), 20)
    answer = _run(local_damage, tmp_path, "--json")
    value = answer.value()
    assert (answer.code, value["counts"], value["windows"]) == (3, {"plan": 1}, 0)


@pytest.mark.slow
def test_a_store_that_is_not_there_is_exit_code_5(
    finish: Finish, s3_place: MakePlace, small_scene: Path, tmp_path: Path
) -> None:
    damage = finish(s3_place, small_scene)
    gone = damage.place.root.replace("s3://", "s3://no-such-bucket-")
    command = ["verify", damage.job_id, "--to", gone, "--manifest", damage.place.manifest]
    answer = run_command([*command, "--json"], tmp_path, damage.place.env)
    assert (answer.code, answer.value()["error"]["kind"]) == (5, "permanent")

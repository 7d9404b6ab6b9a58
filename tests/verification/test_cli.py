"""``scenemosaic verify`` as a process: one JSON object, a table, and the exit codes."""

import json
import shutil
from pathlib import Path

import pytest

from flows import cli
from flows.verbs.verify import as_text
from scenemosaic import job, keys
from scenemosaic.errors import InputError
from scenemosaic.repair import engine, restore_plan
from scenemosaic.verification.verify import verify, verify_job
from tests.flows.serving import Answer, run_command
from tests.jobs.places import MakePlace
from tests.verification.conftest import Finish
from tests.verification.damage import ME, NAME, OTHER_NAME, Damage, flipped


def _run(damage: Damage, folder: Path, *more: str) -> Answer:
    place = damage.place
    command = ["verify", damage.job_id, "--to", place.root, "--manifest", place.manifest, *more]
    return run_command(command, folder, place.env)


def test_a_sound_job(damage: Damage, tmp_path: Path) -> None:
    answer = _run(damage, tmp_path, "--json", "--deep", "--workers", "2")
    value = answer.value()
    assert answer.code == 0, answer.err
    assert set(value) == {
        "job_id", "windows", "checked", "findings", "counts", "waived", "revision", "other_root",
        "bytes", "seconds",
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
    first = "First move away what is not ours (a row: delete it): item."
    assert lines[0] == (
        f"Damaged: 1 window ({NAME}), the item. {first} Then: {repair} [--source PATH]"
    )
    assert lines[1].split()[:2] == [NAME, "missing-object"]
    assert "9 of 9 windows checked: 2 findings (foreign-object, missing-object)" in lines[-1]


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


def _text(damage: Damage) -> list[str]:
    return as_text(verify(damage.spec), damage.spec.place).splitlines()


def test_a_flipped_run_of_bytes_is_one_line(local_damage: Damage) -> None:
    key = local_damage.tile()
    data = flipped(local_damage.read(key), -300)
    local_damage.delete(key)
    local_damage.put_foreign(key, data)
    _, line, _, result = _text(local_damage)
    assert line.split()[:2] == [NAME, "checksum"]
    assert line.endswith("; also: etag, blocks, foreign-object")
    assert "9 of 9 windows checked: 4 findings (blocks, checksum, etag, foreign-object)" in result


def test_of_a_damaged_mosaic_the_item_is_not_called_damaged(local_damage: Damage) -> None:
    local_damage.put_foreign(keys.mosaic_key(local_damage.job_id))
    lines = _text(local_damage)
    assert lines[0].startswith("Damaged: the mosaic. Next: ")
    assert not any("None" in line for line in lines)


def test_a_copied_root_says_of_which_root_its_rows_are(
    local_damage: Damage, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(local_damage.path(""), copy)
    spec = job.load_job(local_damage.job_id, str(copy), f"sqlite:///{copy}/manifest.db")
    report = verify(spec)
    assert report.other_root == local_damage.spec.root
    assert report.exit_code == 3
    lines = as_text(report, spec.place).splitlines()
    assert local_damage.spec.root in lines[0]
    assert f"scenemosaic repair {local_damage.job_id}" in lines[0]
    assert not any(line.startswith("Damaged") for line in lines)
    assert cli.run(["status", local_damage.job_id, "--to", str(copy)]) == 0
    said = f"its rows are of another root, {local_damage.spec.root}; run scenemosaic repair"
    assert said in capsys.readouterr().out
    found = engine.survey(spec)
    engine.carry_out(
        found,
        lambda of: engine.repair_windows(of.spec, of.numbers, ME, named=False).outcomes,
        lambda renew: job.assemble(spec, ME, renew=renew),
    )
    after = verify(spec)
    assert (after.is_sound, after.other_root) == (True, None)


def _status(damage: Damage, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    code = cli.run(["status", damage.job_id, "--to", damage.place.root])
    said = capsys.readouterr()
    return code, said.out + said.err


def _edited(data: bytes) -> bytes:
    """Another checksum of the preview, which the item alone says."""
    value = json.loads(data)
    value["assets"]["preview"]["file:checksum"] = "1220" + "0" * 64
    return json.dumps(value).encode()


def test_an_item_that_was_edited_is_no_finished_job_s(
    local_damage: Damage, capsys: pytest.CaptureFixture[str]
) -> None:
    key = keys.item_key(local_damage.job_id)
    assert _status(local_damage, capsys)[1].splitlines()[-1] == "finished"
    local_damage.change(key, _edited)
    code, said = _status(local_damage, capsys)
    assert code == 0
    assert (
        "not finished: item.json was changed since it was written; run scenemosaic repair" in said
    )
    assert ("item", "metadata") in local_damage.found()
    assert cli.run(["repair", local_damage.job_id, "--to", local_damage.place.root]) == 0
    capsys.readouterr()
    assert _status(local_damage, capsys)[1].splitlines()[-1] == "finished"
    # By an editor, which leaves none of what the store knows of the file.
    local_damage.put_foreign(key, _edited(local_damage.read(key)))
    code, said = _status(local_damage, capsys)
    assert (code, "is not believed: this pipeline did not write it" in said) == (4, True)


def test_of_a_lost_plan_status_and_repair_say_what_verify_does(
    local_damage: Damage, capsys: pytest.CaptureFixture[str]
) -> None:
    place, key = local_damage.spec.place, keys.plan_key(local_damage.job_id)
    repair = f"scenemosaic repair {local_damage.job_id}"
    local_damage.flip(key, 20)
    code, said = _status(local_damage, capsys)
    assert (code, "is damaged" in said, repair in said) == (2, True, True)
    local_damage.delete(key)
    for folder in ("mosaics", "tiles"):  # then rows alone are left
        code, said = _status(local_damage, capsys)
        assert (code, "is gone" in said, repair in said) == (2, True, True)
        assert repair in as_text(verify_job(local_damage.job_id, place), place)
        shutil.rmtree(local_damage.path(folder))
    with pytest.raises(InputError, match=r"is gone or damaged: say with --source"):
        restore_plan.load(local_damage.job_id, place, (), ME)


def test_what_a_repair_refuses_is_to_be_moved_away_first(
    local_damage: Damage, capsys: pytest.CaptureFixture[str]
) -> None:
    local_damage.put_foreign(keys.item_key(local_damage.job_id), b"")
    first = "Damaged: the item. First move away what is not ours (a row: delete it): item. Then: "
    assert _text(local_damage)[0].startswith(f"{first}scenemosaic repair ")
    code, said = _status(local_damage, capsys)
    assert (code, "move it away" in said) == (4, True)


def test_without_an_item_status_names_what_mends_it(
    local_damage: Damage, capsys: pytest.CaptureFixture[str]
) -> None:
    local_damage.delete(keys.item_key(local_damage.job_id))
    local_damage.put_foreign(keys.mosaic_key(local_damage.job_id))
    code, said = _status(local_damage, capsys)
    assert code == 0
    last = f"not finished: gone since it was: item; run scenemosaic repair {local_damage.job_id}"
    assert last in said
    assert cli.run(["repair", local_damage.job_id, "--to", local_damage.place.root]) == 0
    capsys.readouterr()
    assert _status(local_damage, capsys)[1].splitlines()[-1] == "finished"
    local_damage.mend_row(keys.MOSAIC_ROW, etag='"another"')
    last = "not finished: its mosaic's row is of another version of it; run scenemosaic repair"
    assert last in _status(local_damage, capsys)[1]

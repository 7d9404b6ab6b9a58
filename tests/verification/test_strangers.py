"""What is nobody's to replace: no file in an object's place, rows that do not decode."""

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from flows.verbs.verify import as_text
from scenemosaic import keys
from scenemosaic.errors import RetentionError
from scenemosaic.repair import engine
from scenemosaic.repair.engine import RepairReport
from scenemosaic.stores.local import LocalStore
from scenemosaic.stores.local_layout import Layout
from scenemosaic.verification.verify import verify, verify_job
from tests.jobs.places import MakePlace
from tests.verification.conftest import Finish
from tests.verification.damage import ME, NAME, OTHER_NAME, Damage, pairs

Block = Callable[[Path], None]
Close = Callable[[Path, pytest.MonkeyPatch], None]


def _folder(path: Path) -> None:
    path.mkdir()


def _link(path: Path) -> None:
    path.symlink_to("/etc/passwd")


def _circle(path: Path) -> None:
    path.symlink_to(path)


def _repair(damage: Damage, scene: Path) -> RepairReport:
    found = engine.survey(damage.spec, (), [str(scene)])
    return engine.carry_out(
        found,
        lambda of: engine.repair_windows(of.spec, of.numbers, ME, named=of.named).outcomes,
        lambda renew: pytest.fail("nothing is published beside what blocks a window"),
    )


@pytest.mark.parametrize("block", [_folder, _link, _circle])
def test_no_file_in_a_tiles_place_hides_no_other_finding(
    local_damage: Damage, small_scene: Path, block: Block
) -> None:
    path = local_damage.path(local_damage.tile())
    path.unlink()
    block(path)
    local_damage.delete(local_damage.tile(OTHER_NAME))
    report = verify(local_damage.spec)
    assert pairs(report) == {(NAME, "not-an-object"), (OTHER_NAME, "missing-object")}
    assert (report.exit_code, report.states()[NAME]) == (3, "damaged")
    assert str(path) in report.findings[1].detail
    repaired = _repair(local_damage, small_scene)
    outcomes = {one.window: one.outcome for one in repaired.windows}
    assert outcomes == {NAME: "blocked", OTHER_NAME: "written"}
    assert repaired.exit_code == 4
    assert str(path) in str(repaired.error)
    assert not path.is_file() or path.is_symlink()
    assert local_damage.found() == {(NAME, "not-an-object")}


def _no_right(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As another user's file: the tests may run as root, whom no permission stops."""
    opened = os.open

    def refused(name: Any, *rest: Any, **options: Any) -> int:
        if os.fspath(name) == str(path):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return opened(name, *rest, **options)

    monkeypatch.setattr(os, "open", refused)


def _archived(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As S3 answers for an object in an archive class: it has a HEAD, and no GET."""
    get = LocalStore.get

    def refused(self: LocalStore, key: str, *rest: Any) -> bytes:
        if path.match(key):
            raise RetentionError(f"{path}; it lies in an archive class: restore it first")
        return get(self, key, *rest)

    monkeypatch.setattr(LocalStore, "get", refused)


@pytest.mark.parametrize("close", [_no_right, _archived])
def test_a_tile_that_may_not_be_read_hides_no_other_finding_and_is_left_as_it_is(
    local_damage: Damage, small_scene: Path, close: Close
) -> None:
    path = local_damage.path(local_damage.tile())
    before = path.read_bytes()
    local_damage.delete(local_damage.tile(OTHER_NAME))
    with pytest.MonkeyPatch.context() as monkeypatch:
        close(path, monkeypatch)
        report = verify(local_damage.spec)
        assert pairs(report) == {(NAME, "unreadable-object"), (OTHER_NAME, "missing-object")}
        assert str(path) in report.findings[1].detail
        text = as_text(report, local_damage.spec.place)
        assert f"First make readable: {NAME}. Then: scenemosaic repair" in text
        repaired = _repair(local_damage, small_scene)
    outcomes = {one.window: one.outcome for one in repaired.windows}
    assert outcomes == {NAME: "blocked", OTHER_NAME: "written"}
    assert path.read_bytes() == before
    assert local_damage.found() == set()


@pytest.mark.parametrize("close", [_no_right, _archived])
@pytest.mark.parametrize("what", ["mosaic", "preview", "item", "plan"])
def test_what_else_may_not_be_read_hides_no_other_finding(
    local_damage: Damage, what: str, close: Close, monkeypatch: pytest.MonkeyPatch
) -> None:
    local_damage.delete(local_damage.tile(OTHER_NAME))
    close(local_damage.path(getattr(keys, f"{what}_key")(local_damage.job_id)), monkeypatch)
    report = verify_job(local_damage.job_id, local_damage.spec.place)
    others = {(OTHER_NAME, "missing-object")} if what != "plan" else set()
    assert pairs(report) == {(what, "unreadable-object"), *others}


@pytest.mark.parametrize("close", [_no_right, _archived])
@pytest.mark.parametrize("what", ["mosaic", "preview"])
def test_of_what_has_revisions_the_next_one_is_made(
    local_damage: Damage, small_scene: Path, what: str, close: Close
) -> None:
    key = getattr(keys, f"{what}_key")(local_damage.job_id)
    with pytest.MonkeyPatch.context() as monkeypatch:
        close(local_damage.path(key), monkeypatch)
        assert engine.survey(local_damage.spec, (), [str(small_scene)]).renew


def test_a_tiles_metadata_that_may_not_be_read_are_its_own(
    local_damage: Damage, monkeypatch: pytest.MonkeyPatch
) -> None:
    meta, read = Layout(local_damage.path("")).meta_path(local_damage.tile()), Path.read_bytes

    def refused(path: Path) -> bytes:
        if path == meta:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return read(path)

    monkeypatch.setattr(Path, "read_bytes", refused)
    assert local_damage.found() == {(NAME, "unreadable-object")}


@pytest.mark.parametrize("what", ["mosaic", "preview", "item", "plan"])
def test_no_file_in_another_objects_place(local_damage: Damage, what: str) -> None:
    key = getattr(keys, f"{what}_key")(local_damage.job_id)
    local_damage.delete(key)
    local_damage.path(key).mkdir()
    local_damage.delete(local_damage.tile(OTHER_NAME))
    report = verify_job(local_damage.job_id, local_damage.spec.place)
    others = {(OTHER_NAME, "missing-object")} if what != "plan" else set()
    assert pairs(report) == {(what, "not-an-object"), *others}


def test_a_folder_of_tiles_that_leads_out_of_the_root(local_damage: Damage, tmp_path: Path) -> None:
    folder = local_damage.path(local_damage.tile()).parent
    folder.rename(tmp_path / "elsewhere")
    folder.symlink_to(tmp_path / "elsewhere")
    report = verify(local_damage.spec)
    assert len(report.findings) == report.windows
    assert {kind for _, kind in pairs(report)} == {"not-an-object"}


BAD = [
    ("blocks", "garbage"),
    ("software", "no JSON"),
    ("software", "[1]"),
    ("crc", "nonsense"),
    ("bytes", "many"),
    ("etag", b"\xff"),
]


@pytest.mark.parametrize(("column", "value"), BAD)
def test_a_row_that_does_not_decode_hides_no_other_finding(
    local_damage: Damage, small_scene: Path, column: str, value: object
) -> None:
    local_damage.spoil_row(OTHER_NAME, column, value)
    local_damage.delete(local_damage.tile())
    report = verify(local_damage.spec)
    assert pairs(report) == {(OTHER_NAME, "unreadable-row"), (NAME, "missing-object")}
    assert (report.exit_code, report.checked) == (3, 9)
    number = local_damage.spec.plan.recipe.tiling().number(OTHER_NAME)
    assert local_damage.found(windows=[number]) == {(OTHER_NAME, "unreadable-row")}
    repaired = _repair(local_damage, small_scene)
    outcomes = {one.window: one.outcome for one in repaired.windows}
    assert outcomes == {OTHER_NAME: "blocked", NAME: "written"}
    assert (repaired.exit_code, OTHER_NAME in str(repaired.error)) == (4, True)
    local_damage.delete_row(OTHER_NAME)
    assert local_damage.found() == {(OTHER_NAME, "missing-row")}


def test_the_mosaics_row_does_not_decode(local_damage: Damage) -> None:
    local_damage.spoil_row(keys.MOSAIC_ROW, "software", "no JSON")
    assert local_damage.found() == {("mosaic", "unreadable-row")}


def test_a_row_of_another_place_is_found_and_mended(
    finish: Finish, make_place: MakePlace, small_scene: Path
) -> None:
    damage = finish(make_place, small_scene)
    damage.mend_row(output_uri="file:///etc/passwd")
    report = verify(damage.spec, deep=True)
    assert pairs(report) == {(NAME, "uri")}
    assert report.other_root is None
    found = engine.survey(damage.spec, (), ())
    (number,) = found.numbers
    done = engine.repair_windows(damage.spec, [number], ME, named=False).outcomes
    assert [(one.outcome, one.mended) for one in done] == [("unchanged", True)]
    assert damage.found() == set()

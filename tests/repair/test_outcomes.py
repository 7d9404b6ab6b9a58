"""What a repair makes of each thing that can be wrong, and that it leaves alone what is right."""

import dataclasses
from typing import Any
from unittest import mock

import pytest

from scenemosaic import job, keys, windows
from scenemosaic.errors import InputError, Superseded, TargetGone
from scenemosaic.manifests.port import Row, Updated
from scenemosaic.repair import replacing
from scenemosaic.sources import computed_bands as source_bands
from scenemosaic.stores.port import ObjectInfo
from scenemosaic.verification.verify import verify
from tests.repair.made import OTHER, REPAIRER, Made
from tests.repair.writing import other_bytes, write_live

BAD = "0001_0001"


def is_sound(made: Made) -> bool:
    return verify(made.spec).findings == ()


def test_a_damaged_tile_is_written_again(done: Made) -> None:
    sound, row = done.read(done.tile_key(BAD)), done.row(BAD)
    bad = done.damage(done.tile_key(BAD))
    before = done.stored(done.tile_key(BAD))
    report = done.repair()
    assert report.state == "Repaired"
    assert [(one.window, one.outcome) for one in report.windows] == [(BAD, "written")]
    assert done.read(done.tile_key(BAD)) == sound != bad
    done.row_describes(BAD)
    assert is_sound(done)
    assert row is not None
    (kept,) = done.records("replacing")
    former: Any = kept.details["former_row"]
    assert (former["sha256"], former["etag"]) == (row.sha256, row.etag)
    assert kept.details["former_object"]["etag"] == before.etag  # type: ignore[index]
    assert done.records("replaced") != []
    assert done.repair().state == "NothingToRepair"


def test_a_tile_that_is_gone_is_created(done: Made) -> None:
    sound = done.read(done.tile_key(BAD))
    done.delete(done.tile_key(BAD))
    report = done.repair()
    (one,) = report.windows
    assert (one.outcome, report.exit_code) == ("written", 0)
    assert done.read(done.tile_key(BAD)) == sound
    done.row_describes(BAD)
    assert is_sound(done)
    if done.session.store.capabilities.delete_markers:
        assert "delete marker" in str(one.detail)
        assert len(done.records("created-over-delete-marker")) == 1


def test_where_only_the_row_is_wrong_it_alone_is_mended(done: Made) -> None:
    row = done.row(BAD)
    assert row is not None
    done.session.manifest.replace(dataclasses.replace(row, etag='"another"'), row.revision)
    before = done.stored(done.tile_key(BAD))
    report = done.repair(sources=[])  # nobody needs the source
    (one,) = report.windows
    assert (one.outcome, one.mended, report.state) == ("unchanged", True, "Repaired")
    assert done.stored(done.tile_key(BAD)) == before
    done.row_describes(BAD)
    assert len(done.records("row-replacing")) == 1
    assert is_sound(done)


@pytest.mark.parametrize(
    "wrong",
    [
        {"crc": (1, 2, 3)},
        {"blocks": b"\1nonsense"},
        {"blocks": "another tile's", "crc": (1,)},
    ],
)
def test_a_row_that_is_wrong_of_the_inside_alone_is_mended_alone(
    done: Made, wrong: dict[str, Any]
) -> None:
    """Size, SHA-256, ETag and version fit: the object is right, and nobody needs the source."""
    row, other = done.row(BAD), done.row("0000_0000")
    assert row is not None
    assert other is not None
    if wrong.get("blocks") == "another tile's":
        wrong = {**wrong, "blocks": other.blocks}
    done.session.manifest.replace(dataclasses.replace(row, **wrong), row.revision)
    found = {(one.subject, one.kind.value) for one in verify(done.spec).findings}
    assert (BAD, "blocks") in found
    assert found <= {(BAD, "blocks"), ("mosaic", "checksum")}
    before, mosaic = done.place.versions(), done.item()
    report = done.repair(sources=[])
    (one,) = report.windows
    assert (one.outcome, one.mended, report.state) == ("unchanged", True, "Repaired")
    mended = done.row(BAD)
    assert mended is not None
    assert (mended.crc, mended.blocks, mended.sha256) == (row.crc, row.blocks, row.sha256)
    assert done.place.versions() == before, "no object, and no other revision"
    assert done.item() == mosaic
    assert is_sound(done)


def test_a_damaged_mosaic_is_made_anew_though_a_row_was_wrong_as_well(done: Made) -> None:
    row, key = done.row(BAD), keys.mosaic_key(done.job_id)
    assert row is not None
    sound = done.read(key)
    done.damage(key)
    done.session.manifest.replace(dataclasses.replace(row, crc=(1, 2, 3)), row.revision)
    report = done.repair()
    assert report.mosaic is not None
    assert (report.state, report.mosaic.revision) == ("Repaired", 1)
    assert done.read(keys.mosaic_key(done.job_id, 1)) == sound
    assert is_sound(done)


def test_a_window_that_never_had_a_row_is_made(make_job: Any) -> None:
    made = make_job(BAD)
    report = made.repair()
    assert [(one.window, one.outcome) for one in report.windows] == [(BAD, "written")]
    assert report.mosaic is not None
    assert (report.mosaic.outcome, report.mosaic.revision) == ("written", 0)
    assert is_sound(made)


def test_a_tile_whose_row_was_never_written_is_adopted(make_job: Any) -> None:
    made = make_job(BAD)
    death = mock.patch.object(windows, "commit_row", side_effect=KeyboardInterrupt)
    with death, pytest.raises(KeyboardInterrupt):
        made.commit()
    assert made.row(BAD) is None
    (one,) = made.repair(sources=[]).windows
    assert (one.outcome, one.mended) == ("unchanged", True)
    made.row_describes(BAD)


def test_a_named_window_that_is_right_is_left_alone(done: Made) -> None:
    before, row = done.place.versions(), done.row(BAD)
    report = done.repair(BAD)
    (one,) = report.windows
    assert (one.outcome, one.mended, report.state) == ("unchanged", False, "NothingToRepair")
    assert report.mosaic is not None
    assert report.mosaic.outcome == "already-present"
    assert done.row(BAD) == row
    assert done.place.versions() == before


def test_the_same_pixels_in_other_bytes_are_left_alone(done: Made) -> None:
    theirs = other_bytes(done, BAD)
    write_live(done, BAD, theirs)
    (one,) = done.repair(BAD).windows
    assert one.outcome == "unchanged"
    assert done.read(done.tile_key(BAD)) == theirs.data
    done.row_describes(BAD)


def test_a_row_that_contradicts_a_right_object_is_mended_after_a_comparison(done: Made) -> None:
    row = done.row(BAD)
    assert row is not None
    wrong = dataclasses.replace(row, sha256="ab" * 32, crc=(1,))
    done.session.manifest.replace(wrong, row.revision)
    before = done.stored(done.tile_key(BAD))
    (one,) = done.repair().windows
    assert (one.outcome, one.mended) == ("unchanged", True)
    assert done.stored(done.tile_key(BAD)) == before
    done.row_describes(BAD)


def _between(done: Made, act: Any) -> Any:
    """``act`` happens once, after the inspection and before the first effect."""
    real, acted = replacing.Target._write_ahead, []

    def first(self: Any, *arguments: Any) -> None:
        if not acted:
            acted.append(True)
            act()
        real(self, *arguments)

    return mock.patch.object(replacing.Target, "_write_ahead", first)


def test_a_newer_write_is_left_alone_and_its_writer_is_named(done: Made) -> None:
    done.damage(done.tile_key(BAD))
    newer = done.tile(BAD)
    with _between(done, lambda: write_live(done, BAD, newer)):
        report = done.repair()
    (one,) = report.windows
    assert (one.outcome, report.exit_code, report.state) == ("superseded", 4, "Superseded")
    assert isinstance(report.error, Superseded)
    assert "other/" in str(report.error)
    assert "its row is other's" in str(one.detail)
    assert done.stored(done.tile_key(BAD)).metadata["write_id"].startswith("other/")
    done.row_describes(BAD)
    assert len(done.records("superseded")) == 1
    assert done.repair().exit_code == 0


def test_a_target_that_went_away_is_told_apart(done: Made) -> None:
    done.damage(done.tile_key(BAD))
    with _between(done, lambda: done.delete(done.tile_key(BAD))):
        report = done.repair()
    (one,) = report.windows
    assert (one.outcome, report.exit_code) == ("target-gone", 4)
    assert isinstance(report.error, TargetGone)
    assert done.session.store.head(done.tile_key(BAD)) is None
    assert done.repair().exit_code == 0
    assert is_sound(done)


def test_what_is_not_ours_between_inspection_and_write_is_left_alone(done: Made) -> None:
    done.damage(done.tile_key(BAD))
    foreign = b"II*\0 somebody else's"
    with _between(done, lambda: done.overwrite(done.tile_key(BAD), foreign)):
        report = done.repair()
    assert (report.windows[0].outcome, report.exit_code) == ("superseded", 4)
    assert done.read(done.tile_key(BAD)) == foreign


def test_x_y_x_is_caught(done: Made) -> None:
    """The ETag can be that of the inspection again; version, write-id or row tell it apart."""
    x = done.damage(done.tile_key(BAD))
    y = done.tile(BAD)

    def there_and_back() -> None:
        write_live(done, BAD, y)
        done.overwrite(done.tile_key(BAD), x)

    with _between(done, there_and_back):
        report = done.repair()
    assert (report.windows[0].outcome, report.exit_code) == ("superseded", 4)
    assert done.read(done.tile_key(BAD)) == x


def test_x_y_x_is_caught_by_the_rows_revision_alone(done: Made) -> None:
    """As on a bucket without versions: the object looks the same in every way."""
    done.damage(done.tile_key(BAD))
    row = done.row(BAD)
    assert row is not None
    with _between(done, lambda: done.session.manifest.replace(row, row.revision)):
        report = done.repair()
    assert (report.windows[0].outcome, report.exit_code) == ("superseded", 4)


def test_a_row_that_somebody_replaces_meanwhile_follows_the_object(done: Made) -> None:
    """A repair whose object stands is not put off by a row about the object before it."""
    done.damage(done.tile_key(BAD))
    real, row = replacing.settle_row, done.row(BAD)
    assert row is not None

    def late(session: Any, wanted: Row, standing: Row | None, stored: ObjectInfo) -> bool:
        mended = dataclasses.replace(row, written_by="other")
        assert isinstance(session.manifest.replace(mended, row.revision), Updated)
        return real(session, wanted, standing, stored)

    with mock.patch.object(replacing, "settle_row", late):
        (one,) = done.repair().windows
    assert one.outcome == "written"
    done.row_describes(BAD)


def test_a_window_that_fails_stops_the_mosaic_and_not_the_others(done: Made) -> None:
    for name in (BAD, "0002_0002"):
        done.damage(done.tile_key(name))
    real = source_bands.read_window

    def read(location: str, window: Any, pin: Any = None) -> Any:
        if window.name == BAD:
            raise windows.SourceReadError("window 0001_0001 cannot be read")
        return real(location, window, pin)

    with mock.patch.object(source_bands, "read_window", read):
        report = done.repair()
    assert {one.window: one.outcome for one in report.windows} == {
        BAD: "failed",
        "0002_0002": "written",
    }
    assert (report.state, report.exit_code, report.mosaic) == ("Incomplete", 3, None)
    assert done.repair().exit_code == 0


@pytest.mark.parametrize("name", ["0003_0000", "3_0", "mosaic", "", "0001_0001_", "²_0"])
def test_a_window_that_the_plan_does_not_have_is_refused(done: Made, name: str) -> None:
    with pytest.raises(InputError, match="no window"):
        done.repair(name)


def test_a_run_that_is_repeated_knows_its_own_write(done: Made) -> None:
    """A task that died before its row: its retry, with the same run, mends the row."""
    done.damage(done.tile_key(BAD))
    death = mock.patch.object(replacing, "settle_row", side_effect=KeyboardInterrupt)
    with death, pytest.raises(KeyboardInterrupt):
        done.repair(run=REPAIRER)
    written = done.stored(done.tile_key(BAD))
    (one,) = done.repair(run=REPAIRER).windows
    assert (one.outcome, one.mended) == ("written", True)
    assert done.stored(done.tile_key(BAD)) == written
    done.row_describes(BAD)
    assert job.finished(done.spec) is not None
    assert done.repair(BAD, run=OTHER).windows[0].outcome == "unchanged"

"""Each thing that can be wrong with a window, by real damage, and nothing said of a sound job."""

from dataclasses import replace
from pathlib import Path

import pytest

from scenemosaic import job
from scenemosaic.job_rows import row_of
from scenemosaic.session import open_session
from scenemosaic.tiff.runs import pack, unpack
from scenemosaic.tile import window_shapes
from scenemosaic.verification import inspection
from scenemosaic.verification.findings import Kind
from scenemosaic.verification.inspection import inspect_window
from scenemosaic.verification.verify import verify
from tests.jobs.conftest import write_scene
from tests.jobs.places import MakePlace
from tests.verification.conftest import Finish
from tests.verification.damage import ME, NAME, NUMBER, OTHER_NAME, Damage, flipped, pairs

OTHER_VERSION = {"etag", "version"}


def _of(kinds: set[str]) -> set[tuple[str, str]]:
    return {(NAME, kind) for kind in kinds}


@pytest.mark.parametrize("deep", [False, True])
def test_a_sound_job(damage: Damage, deep: bool) -> None:
    told: list[tuple[str, int, int]] = []
    report = verify(damage.spec, deep=deep, progress=lambda *step: told.append(step))
    assert report.findings == ()
    assert (report.windows, report.checked, report.exit_code) == (9, 9, 0)
    assert ("windows", 9, 9) in told
    size_bytes = len(damage.read(f"mosaics/{damage.job_id}/mosaic.tif"))
    assert told[-1] == ("mosaic", size_bytes, size_bytes)
    assert set(report.states().values()) == {"sound"}


def test_a_tile_that_is_gone(damage: Damage) -> None:
    kept = damage.row().version_id
    damage.delete(damage.tile())
    report = verify(damage.spec)
    expected = "missing-object" if damage.is_local else "delete-marker"
    assert pairs(report) == _of({expected})
    assert damage.is_local or str(kept) in report.findings[0].detail
    assert report.states()[NAME] == "missing"
    assert report.exit_code == 3


def test_a_row_that_is_gone(damage: Damage) -> None:
    damage.delete_row()
    assert damage.found() == _of({"missing-row"})
    state = inspect_window(damage.session, damage.spec, NUMBER, None, deep=True)
    assert (state.name, state.object_is_right) == (NAME, True)


def test_a_window_that_was_never_made(damage: Damage) -> None:
    damage.delete_row()
    damage.delete(damage.tile())
    assert damage.found() == _of({"missing-row"})


@pytest.mark.parametrize("at", [-50, 300])  # a block of level 0, and the header
def test_a_flipped_bit(damage: Damage, at: int) -> None:
    damage.flip(damage.tile(), at)
    found = damage.found()
    other = set() if damage.is_local else OTHER_VERSION
    assert found >= _of({"checksum", "metadata"} | other)
    assert found <= _of({"checksum", "metadata", "blocks"} | other)
    assert ((NAME, "blocks") in found) or at > 0


def test_the_same_bytes_written_again_are_another_version(damage: Damage) -> None:
    if damage.is_local:
        damage.put_foreign(damage.tile(), damage.read(damage.tile()))
        # The entry that describes these bytes describes this file.
        assert damage.found() == set()
        return
    damage.change(damage.tile(), bytes)
    assert damage.found() == _of({"version"})
    state = inspect_window(damage.session, damage.spec, NUMBER, damage.row(), deep=False)
    assert state.object_is_right


def test_a_tile_that_is_cut_short(damage: Damage) -> None:
    damage.change(damage.tile(), lambda data: data[:-7])
    assert damage.found() >= _of({"size", "checksum", "blocks"})


def test_a_foreign_tile(damage: Damage) -> None:
    damage.put_foreign(damage.tile())
    assert damage.found() >= _of({"foreign-object", "checksum", "size", "etag"})


def test_the_right_bytes_without_our_metadata(damage: Damage) -> None:
    data = damage.read(damage.tile())
    damage.put_foreign(damage.tile(), data)
    if damage.is_local:
        damage.path(damage.tile()).write_bytes(data + b"?")
        damage.path(damage.tile()).write_bytes(data)
        for meta in damage.path("").glob(f".scenemosaic/**/{NAME}*"):
            meta.unlink()
    found = damage.found()
    assert (NAME, "metadata") in found
    assert not {"foreign-object", "checksum", "size"} & {kind for _, kind in found}


@pytest.mark.parametrize(
    ("changes", "kinds", "mosaic"),
    [
        ({"etag": '"other"'}, {"etag"}, None),
        ({"version_id": "other"}, {"version"}, None),
        ({"bytes": 1}, {"size"}, "stale-mosaic"),
        ({"sha256": "ab" * 32}, {"checksum"}, "stale-mosaic"),
        ({"crc": (1, 2, 3)}, {"blocks"}, "checksum"),
        ({"blocks": b"\1nonsense"}, {"blocks"}, None),
    ],
)
def test_a_row_that_is_wrong(
    local_damage: Damage, changes: dict[str, object], kinds: set[str], mosaic: str | None
) -> None:
    local_damage.mend_row(**changes)
    expected = _of(kinds) | ({("mosaic", mosaic)} if mosaic else set())
    assert local_damage.found() == expected
    only_the_row = kinds <= {"etag", "version", "blocks"}
    state = inspect_window(
        local_damage.session, local_damage.spec, NUMBER, local_damage.row(), deep=False
    )
    assert state.object_is_right is only_the_row


def test_block_sizes_of_another_tile(local_damage: Damage) -> None:
    local_damage.mend_row(blocks=local_damage.row(OTHER_NAME).blocks)
    assert local_damage.found() == {(NAME, "blocks"), ("mosaic", "checksum")}


def test_checksums_of_other_block_rows(local_damage: Damage) -> None:
    """The row says of a block row, and so would assembly, what its bytes are not."""
    spec, row = local_damage.spec, local_damage.row()
    shapes = window_shapes(spec.plan.recipe.tiling().window(NUMBER), spec.plan.recipe)
    assert row.blocks is not None
    stated = unpack(row.blocks, [shape.blocks for shape in shapes])
    assert stated.row_crcs is not None
    assert stated.row_crcs.size == sum(shape.block_rows for shape in shapes)
    local_damage.mend_row(blocks=pack(replace(stated, row_crcs=stated.row_crcs ^ 1)))
    assert local_damage.found() == {(NAME, "blocks")}


def test_only_the_named_windows_are_looked_at(damage: Damage) -> None:
    for name in (NAME, OTHER_NAME):
        damage.flip(damage.tile(name), -50)
    damage.put_foreign(f"tiles/{damage.job_id}/stray.tif")
    report = verify(damage.spec, windows=[NUMBER, 0])
    assert {subject for subject, _ in pairs(report)} == {NAME}
    assert (report.checked, report.windows) == (2, 9)
    states = report.states()
    assert [states[name] for name in ("0000_0000", NAME, OTHER_NAME)] == [
        "sound",
        "damaged",
        "unchecked",
    ]


def test_a_flipped_bit_that_only_decoding_shows(
    finish: Finish, local_place: MakePlace, tmp_path: Path
) -> None:
    # Too high for its level 0 to be the preview, which is decoded when the mosaic is made.
    scene = write_scene(tmp_path / "high.tif", 1100, 300)
    damage = finish(local_place, scene, assemble=False, window=256, block_size=64)
    number, data = 3, flipped(damage.read(damage.tile()), -16)  # in its last block
    damage.flip(damage.tile(), -16)
    state = inspect_window(damage.session, damage.spec, number, damage.row(), deep=True)
    assert Kind.UNDECODABLE in {finding.kind for finding in state.findings}
    damage.pass_off(data)
    job.assemble(damage.spec, ME)
    assert damage.found() == set()
    report = verify(damage.spec, deep=True)
    assert pairs(report) == {(NAME, "undecodable"), ("mosaic", "undecodable")}
    assert "level 0, block 3_0: it does not decode" in report.findings[0].detail
    assert "level 0, block 7_4: it does not decode" in report.findings[1].detail


def test_a_tile_that_is_replaced_while_it_is_read(
    damage: Damage, monkeypatch: pytest.MonkeyPatch
) -> None:
    row, data = damage.row(), damage.read(damage.tile())
    real, calls = inspection.read_tile, []

    def read_tile(*arguments: object, **options: object) -> object:
        if not calls:
            damage.put_foreign(damage.tile(), flipped(data, -20))
        calls.append(1)
        return real(*arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(inspection, "read_tile", read_tile)
    state = inspect_window(damage.session, damage.spec, NUMBER, row, deep=False)
    assert len(calls) == 2
    assert state.info == open_session(damage.spec).store.head(damage.tile())
    assert Kind.CHECKSUM in {finding.kind for finding in state.findings}


def test_a_row_that_changes_under_way_is_asked_for_again(
    local_damage: Damage, monkeypatch: pytest.MonkeyPatch
) -> None:
    fresh = local_damage.row()
    local_damage.mend_row(etag='"old"')
    stale = local_damage.row()
    local_damage.mend_row(etag=fresh.etag)
    monkeypatch.setattr(
        "scenemosaic.verification.verify.rows_of", lambda *_: iter([(NUMBER, stale)])
    )
    assert local_damage.found(windows=[NUMBER]) == set()
    assert row_of(local_damage.session, local_damage.spec, NUMBER) != stale

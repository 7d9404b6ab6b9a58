"""The published mosaic, its item and preview: every byte of them, and the rows behind them."""

import json
from collections.abc import Callable

import pytest

from scenemosaic import job, keys
from scenemosaic.errors import InputError
from scenemosaic.places import place_at
from scenemosaic.tiff import ifd
from scenemosaic.verification.verify import verify, verify_job
from tests.verification.damage import ME, NAME, Damage, flipped, pairs

TOP_LEVELS = (3, 4)


@pytest.fixture
def mosaic(local_damage: Damage) -> bytes:
    return local_damage.read(keys.mosaic_key(local_damage.job_id))


def _block(mosaic: bytes, level: int) -> int:
    """Where the first block of a level lies that is not sparse."""
    directory = ifd.parse(mosaic)[level]
    return min(int(offset) for offset in directory[ifd.TILE_OFFSETS].values() if offset)


def _key(damage: Damage) -> str:
    return keys.mosaic_key(damage.job_id)


def test_a_mosaic_that_is_gone(damage: Damage) -> None:
    damage.delete(_key(damage))
    expected = "missing-object" if damage.is_local else "delete-marker"
    assert damage.found() == {("mosaic", expected)}


def test_a_mosaic_that_was_never_made(damage: Damage) -> None:
    for key in (keys.mosaic_key, keys.preview_key, keys.item_key):
        damage.delete(key(damage.job_id))
    damage.delete_row(keys.MOSAIC_ROW)
    assert damage.found() == {("mosaic", "missing-row")}


def test_a_mosaic_without_its_row(damage: Damage) -> None:
    damage.delete_row(keys.MOSAIC_ROW)
    assert damage.found() == {("mosaic", "missing-row")}


def test_a_mosaic_written_again(damage: Damage) -> None:
    damage.change(_key(damage), bytes)
    assert damage.found() == (set() if damage.is_local else {("mosaic", "version")} | _etag(damage))


def _etag(damage: Damage) -> set[tuple[str, str]]:
    """A small mosaic was one PUT: the same bytes have the same ETag."""
    info, row = damage.session.store.head(_key(damage)), damage.row(keys.MOSAIC_ROW)
    assert info is not None
    return {("mosaic", "etag")} if info.etag != row.etag else set()


@pytest.mark.parametrize("level", [0, 1, 2])
def test_a_flipped_bit_of_a_tiles_level(local_damage: Damage, mosaic: bytes, level: int) -> None:
    local_damage.flip(_key(local_damage), _block(mosaic, level) + 9)
    report = verify(local_damage.spec)
    assert pairs(report) == {("mosaic", "checksum")}
    assert "0000_0000" in report.findings[0].detail
    assert pairs(verify(local_damage.spec, deep=True)) == {
        ("mosaic", "checksum"),
        ("mosaic", "undecodable"),
    }


@pytest.mark.parametrize("level", TOP_LEVELS)
def test_a_flipped_bit_of_a_top_level(local_damage: Damage, mosaic: bytes, level: int) -> None:
    local_damage.flip(_key(local_damage), _block(mosaic, level) + 9)
    report = verify(local_damage.spec)
    assert pairs(report) == {("mosaic", "checksum")}
    assert "digest" in report.findings[0].detail
    deep = verify(local_damage.spec, deep=True)
    assert f"level {level}, block 0_0" in " ".join(f.detail for f in deep.findings)


def test_a_flipped_bit_of_the_pixel_size(local_damage: Damage, mosaic: bytes) -> None:
    scale = ifd.parse(mosaic)[0][ifd.PIXEL_SCALE].data
    local_damage.flip(_key(local_damage), mosaic.index(scale) + 5)
    assert local_damage.found() == {("mosaic", "checksum")}


def _torn(mosaic: bytes) -> bytes:
    """Two blocks have changed places."""
    offsets = ifd.parse(mosaic)[0][ifd.TILE_OFFSETS].data
    at = mosaic.index(offsets)
    pair = offsets[-8:-4], offsets[-4:]
    assert pair[0] != pair[1]
    end = at + len(offsets)
    return mosaic[: end - 8] + pair[1] + pair[0] + mosaic[end:]


def _outside(mosaic: bytes) -> bytes:
    offsets = ifd.parse(mosaic)[0][ifd.TILE_OFFSETS].data
    end = mosaic.index(offsets) + len(offsets)
    return mosaic[: end - 1] + b"\x7f" + mosaic[end:]


@pytest.mark.parametrize(
    "spoil",
    [_torn, _outside, lambda data: data[:-5], lambda data: data + b"more", lambda data: data[100:],
     lambda data: data[:2000], lambda data: b"MM" + data[2:], lambda data: b""],
)  # fmt: skip
def test_a_mosaic_of_another_structure(
    local_damage: Damage, spoil: Callable[[bytes], bytes]
) -> None:
    local_damage.change(_key(local_damage), spoil)
    assert ("mosaic", "blocks") in local_damage.found()
    assert ("mosaic", "blocks") in local_damage.found(deep=True)


def test_a_foreign_mosaic(damage: Damage) -> None:
    damage.put_foreign(_key(damage))
    assert damage.found() >= {("mosaic", kind) for kind in ("foreign-object", "size", "blocks")}


@pytest.mark.parametrize("name", ["item", "preview"])
def test_small_files(damage: Damage, name: str) -> None:
    key = {"item": keys.item_key, "preview": keys.preview_key}[name](damage.job_id)
    damage.change(key, lambda data: data + b" ")
    assert damage.found() == {(name, "metadata")}
    damage.put_foreign(key)
    assert damage.found() == {(name, "foreign-object")}
    damage.delete(key)
    expected = "missing-object" if damage.is_local else "delete-marker"
    assert damage.found() == {(name, expected)}


def test_an_item_of_another_mosaic(local_damage: Damage) -> None:
    def other(data: bytes) -> bytes:
        item = json.loads(data)
        item["assets"]["data"] |= {"file:size": 1, "scenemosaic:digest": "ab"}
        return json.dumps(item).encode()

    local_damage.change(keys.item_key(local_damage.job_id), other)
    assert local_damage.found() == {("item", kind) for kind in ("metadata", "size", "checksum")}


def test_an_item_that_keeps_no_digest_of_rows_makes_nothing_stale(local_damage: Damage) -> None:
    def older(data: bytes) -> bytes:
        item = json.loads(data)
        del item["properties"]["scenemosaic:rows_sha256"]
        return json.dumps(item).encode()

    local_damage.change(keys.item_key(local_damage.job_id), older)
    local_damage.mend_row(waiver="a word")
    assert local_damage.found() == {("item", "metadata")}


def test_a_mosaic_older_than_a_tile(damage: Damage) -> None:
    damage.pass_off(flipped(damage.read(damage.tile()), -20))
    assert damage.found() == {("mosaic", "stale-mosaic")}


def test_a_mosaic_older_than_a_waiver(local_damage: Damage) -> None:
    local_damage.mend_row(waiver="cloud")
    report = verify(local_damage.spec)
    assert pairs(report) == {("mosaic", "stale-mosaic")}
    assert report.waived == (NAME,)
    assert report.states()[NAME] == "waived"


def test_stray_objects(damage: Damage) -> None:
    job_id = damage.job_id
    stray = [
        *(f"tiles/{job_id}/{name}" for name in ("0009_0009.tif", "0001_0001.tif.bak", "x/y.tif")),
        *(f"mosaics/{job_id}/{name}" for name in ("r1/mosaic.tif", "other.json")),
    ]
    for key in stray:
        damage.put_foreign(key)
    assert damage.found() == {(key, "stray-object") for key in stray}


def test_the_next_revision_is_what_counts(damage: Damage) -> None:
    damage.flip(_key(damage), -20)
    assert damage.found() >= {("mosaic", "checksum")}
    assert job.assemble(damage.spec, ME, renew=True).revision == 1
    assert damage.found() == set()
    damage.delete(keys.preview_key(damage.job_id, 1))
    expected = "missing-object" if damage.is_local else "delete-marker"
    assert damage.found() == {("preview", expected)}


# -- plan.json


def _verify_by_id(damage: Damage) -> set[tuple[str, str]]:
    return pairs(verify_job(damage.job_id, place_at(damage.place.root, damage.place.manifest)))


def test_a_damaged_plan(damage: Damage) -> None:
    damage.flip(keys.plan_key(damage.job_id), 20)
    assert _verify_by_id(damage) == {("plan", "plan")}
    assert damage.found() == {("plan", "plan")}


def test_a_plan_that_is_gone(damage: Damage) -> None:
    damage.delete(keys.plan_key(damage.job_id))
    assert _verify_by_id(damage) == {("plan", "plan")}


def test_a_plan_that_is_gone_and_only_rows_are_left(local_damage: Damage) -> None:
    local_damage.delete(keys.plan_key(local_damage.job_id))
    for folder in ("tiles", "mosaics"):
        for path in local_damage.path(f"{folder}/{local_damage.job_id}").glob("*"):
            path.unlink()
    assert _verify_by_id(local_damage) == {("plan", "plan")}


def test_no_such_job(local_damage: Damage) -> None:
    place = local_damage.place
    with pytest.raises(InputError, match="holds no job"):
        verify_job("ab" * 16, place_at(place.root, place.manifest))
    with pytest.raises(InputError, match="32 hex digits"):
        verify_job("ab", place_at(place.root, place.manifest))
    with pytest.raises(InputError, match="it has 3 x 3"):
        verify_job(local_damage.job_id, place_at(place.root, place.manifest), names=["0007_0000"])

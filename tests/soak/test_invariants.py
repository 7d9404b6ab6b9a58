"""The checker sees a tile that is lost, one that is doubled, and what is left open."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from scenemosaic import job, keys
from scenemosaic.plans.plan import PlanOptions
from tests import servers
from tests.soak.bucket import Bucket, make_bucket
from tests.soak.damage import Place, damage, mosaic_of, spoilt
from tests.soak.evidence import RowSeen, Stands, Version, Wanted
from tests.soak.folder import make_folder
from tests.soak.invariants import replaced, violations
from tests.soak.looking import look
from tests.soak.scenes import BLOCK, WINDOW, make_scene, wanted

ME = job.Run("me", "me")


def finish(place: Place, bring: Callable[[Path], None], folder: Path) -> Wanted:
    """A scene that came and was processed, by the engine alone."""
    scene = make_scene(folder, seed=1, number=0)
    bring(scene)
    options = PlanOptions(window=WINDOW, block_size=BLOCK)
    spec = job.plan_job([place.location(scene.name)], place.root, place.manifest, options)
    job.prepare(spec)
    job.publish_plan(spec, ME)
    job.commit_windows(spec, job.missing_windows(spec), ME)
    job.assemble(spec, ME)
    return wanted(place, scene)


@pytest.fixture
def bucket(ministack: str, monkeypatch: pytest.MonkeyPatch) -> Bucket:
    monkeypatch.setenv("AWS_ENDPOINT_URL", ministack)
    return make_bucket(ministack)


def found(place: Place, job_: Wanted) -> str:
    return "\n".join(violations(look(place, [job_]), [job_]))


def spoil_all(bucket: Bucket, one: Wanted) -> Mapping[str, str]:
    """Everything that must never be, on a real store; what the checker has to say of each."""
    tiles = [keys.tile_key(one.job_id, window) for window in one.windows]
    s3 = servers.aws_client("s3", bucket.endpoint)
    dynamodb = servers.aws_client("dynamodb", bucket.endpoint)
    bucket.delete(tiles[0])
    said = {tiles[0]: f"lost: {one.scene} has no tile {tiles[0]}"}
    at = {"Bucket": bucket.bucket, "Key": f"root/{tiles[1]}"}
    s3.put_object(**at, Body=bucket.read(tiles[1]))
    said[tiles[1]] = f"doubled: {tiles[1]} has 2 versions of ours, where 0 damages"
    s3.create_multipart_upload(Bucket=bucket.bucket, Key="root/mosaics/x/mosaic.tif")
    said["upload"] = "left open: the upload of root/mosaics/x/mosaic.tif"
    rows = {item["window"]["S"]: item for item in scan(dynamodb, bucket.table)}
    double = rows[one.windows[2]]
    partition = {"job_id": {"S": f"{double['job_id']['S']}#1"}}
    dynamodb.put_item(TableName=bucket.table, Item=double | partition)
    said["double row"] = f"doubled: 2 rows {one.windows[2]} of {one.scene}"
    bucket.delete_row(double["job_id"]["S"], one.windows[3])
    said["lost row"] = f"lost: no row {one.windows[3]} of {one.scene}"
    mosaic = mosaic_of(bucket, one.job_id)
    bucket.delete(mosaic)
    said[mosaic] = f"leads nowhere: {keys.item_key(one.job_id)} names {mosaic}"
    s3.put_object(Bucket=bucket.bucket, Key="root/tiles/0/0000_0000.tif", Body=b"")
    said["stray"] = "stray: tiles/0/0000_0000.tif"
    return said


def scan(dynamodb: Any, table: str) -> list[dict[str, Any]]:
    return [item for item in dynamodb.scan(TableName=table)["Items"] if "output_uri" in item]


def test_a_bucket(bucket: Bucket, tmp_path: Path) -> None:
    one = finish(bucket, bucket.bring, tmp_path)
    assert found(bucket, one) == ""
    said = spoil_all(bucket, one)
    lines = found(bucket, one)
    for text in said.values():
        assert text in lines
    assert "describes another object" in lines  # the doubled tile's row, which is of the first


def test_a_folder(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "place")
    one = finish(folder, folder.bring, tmp_path)
    assert found(folder, one) == ""
    for chance in (0.0, 0.3, 0.5, 0.99):
        assert damage(folder, [one], chance) is not None
    half = folder.top / ".scenemosaic" / "tmp" / "dead.tmp"
    half.write_bytes(b"half")
    lines = found(folder, one)
    for text in ("lost: scene-000.tif has no tile", "lost: no row", "left open: the upload of"):
        assert text in lines
    folder.spoil(mosaic_of(folder, one.job_id))
    assert "leads nowhere" in found(folder, one)


def test_what_is_spoilt_twice_is_never_as_it_was() -> None:
    data = [bytes(100)]
    for _ in range(10):
        data.append(spoilt(data[-1]))
    assert len(set(data)) == len(data)


ONE = Wanted("a.tif", "0" * 32, "pixels", ["0000_0000"])
TILE, ITEM = keys.tile_key(ONE.job_id, "0000_0000"), keys.item_key(ONE.job_id)
GOOD, BAD = Version("1", "a", ours=True), Version("2", "b", ours=False)
AGAIN = Version("3", "a", ours=True)


def sound() -> Stands:
    partition, root = f"{ONE.job_id}@root", "s3://bucket/root"
    mosaic = keys.mosaic_key(ONE.job_id)
    rows = [
        RowSeen(partition, "0000_0000", f"{root}/{TILE}", "a", None),
        RowSeen(partition, keys.MOSAIC_ROW, f"{root}/{mosaic}", "a", None),
    ]
    names = (keys.plan_key(ONE.job_id), TILE, ITEM, mosaic, keys.preview_key(ONE.job_id))
    history = {key: [GOOD] for key in names}
    return Stands(history, rows, (), {ONE.job_id: mosaic}, {ONE.job_id: "pixels"})


def with_history(key: str, *versions: Version, repairs: int = 0) -> Stands:
    stands = sound()
    return replace(stands, history={**stands.history, key: versions}, replacing={key: repairs})


def test_a_repair_explains_one_more_version_and_no_other_does() -> None:
    assert violations(sound(), [ONE]) == []
    repaired = with_history(TILE, GOOD, BAD, AGAIN, repairs=1)
    assert violations(repaired, [ONE]) == []
    assert replaced(repaired) == 1
    for stands in (
        with_history(TILE, GOOD, AGAIN, repairs=1),  # nothing was damaged
        with_history(TILE, GOOD, BAD, AGAIN),  # nothing was recorded
        with_history(TILE, GOOD, BAD, AGAIN, Version("4", "a", ours=True), repairs=2),
    ):
        (line,) = violations(stands, [ONE])
        assert line.startswith(f"doubled: {TILE}")
    gone = Version("2", "", ours=False, is_marker=True)
    assert violations(with_history(TILE, GOOD, gone, AGAIN), [ONE]) == []
    left = violations(with_history(TILE, GOOD, BAD, repairs=1), [ONE])
    assert left[0] == f"lost: a.tif has no tile {TILE}"


def test_what_is_published_is_the_newest_once_and_of_these_pixels() -> None:
    def said(stands: Stands) -> str:
        (line,) = violations(stands, [ONE])
        return line

    assert "twice with the same content" in said(with_history(ITEM, GOOD, AGAIN))
    assert "other pixels" in said(replace(sound(), pixels={ONE.job_id: "others"}))
    assert "not published" in said(replace(sound(), items={}))
    newer = with_history(keys.mosaic_key(ONE.job_id, 1), GOOD)
    assert said(newer).startswith("left open: a.tif has a revision 1")
    assert "has 2 versions" in said(with_history(keys.plan_key(ONE.job_id), GOOD, AGAIN))
    assert violations(sound(), [])[0].startswith("stray:")

"""``item.json`` edited, put back or gone: all who read it say the same, and one repair mends it."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from scenemosaic import job, keys
from scenemosaic.errors import ForeignObject
from scenemosaic.publishing import inspection
from scenemosaic.publishing.finished import examine
from scenemosaic.verification.verify import verify
from tests.repair.conftest import MakeJob
from tests.repair.made import Made

Edit = Callable[[dict[str, Any]], object]
LOCAL = pytest.mark.parametrize("make_place", ["local"], indirect=True)


def _property(name: str, value: object) -> Edit:
    return lambda item: item["properties"].__setitem__(name, value)


EDITS: dict[str, tuple[Edit, str]] = {
    "datetime": (_property("datetime", "1999-01-01T00:00:00Z"), "properties.datetime"),
    "title": (_property("title", "Another"), "properties.title"),
    "sources": (_property("scenemosaic:sources", []), "scenemosaic:sources"),
    "more": (_property("of-people", 1), "properties.of-people"),
    "geometry": (lambda item: item.update(geometry=None), "geometry"),
    "bbox": (lambda item: item.pop("bbox"), "bbox"),
    "links": (lambda item: item.update(links=[{"rel": "self", "href": "x"}]), "links"),
    "asset": (lambda item: item["assets"].update(other={"href": "x"}), "assets.other"),
    "type": (lambda item: item["assets"]["data"].pop("type"), "assets.data.type"),
    "checksum": (
        lambda item: item["assets"]["data"].update({"file:checksum": "1220" + "0" * 64}),
        "checksum",
    ),
    "rows": (_property("scenemosaic:rows_sha256", "0" * 64), "digest of rows"),
}


@LOCAL
def test_an_edited_item_is_believed_by_nobody(done: Made) -> None:
    key, whole = keys.item_key(done.job_id), done.item()
    for edit, named in EDITS.values():
        item = json.loads(json.dumps(whole))
        edit(item)
        done.overwrite(key, json.dumps(item).encode())
        for ask in (job.finished, inspection.inspect, examine):
            with pytest.raises(ForeignObject, match=r"item\.json is not believed") as caught:
                ask(done.spec)
            assert named in str(caught.value)
    for edit, _ in (EDITS["title"], EDITS["geometry"]):
        older = json.loads(json.dumps(whole))
        older["properties"]["processing:software"] = {"scenemosaic": "0.0.9"}
        older["bbox"] = [one + 1e-9 for one in older["bbox"]]
        done.overwrite(key, json.dumps(older).encode())
        assert job.finished(done.spec) is not None
        edit(older)
        done.overwrite(key, json.dumps(older).encode())
        with pytest.raises(ForeignObject):
            job.finished(done.spec)


def renewed(done: Made) -> bytes:
    """A job at revision 1, whose first mosaic is damaged; its first item."""
    item, mosaic = done.read(keys.item_key(done.job_id)), keys.mosaic_key(done.job_id)
    done.overwrite(mosaic, done.read(mosaic)[:1000])
    report = done.repair()
    assert report.mosaic is not None
    assert (report.mosaic.revision, report.exit_code) == (1, 0)
    return item


@LOCAL
def test_strays_are_judged_by_the_item_as_it_stands_at_the_end(done: Made) -> None:
    renewed(done)
    done.delete(keys.item_key(done.job_id))
    report = done.repair()
    assert report.mosaic is not None
    assert (report.mosaic.revision, report.left) == (1, ())
    stray = f"mosaics/{done.job_id}/r7/mosaic.tif"
    done.path(stray).parent.mkdir()
    done.path(stray).write_bytes(b"not ours")
    done.delete(keys.item_key(done.job_id))
    (left,) = done.repair().left
    assert (left.subject, "revision 1" in left.detail) == (stray, True)


def test_an_older_item_that_was_put_back_is_no_newest_one(make_job: MakeJob) -> None:
    done = make_job()
    key = keys.item_key(done.job_id)
    info = done.stored(key)
    first = renewed(done)
    assert job.finished(done.spec) is not None
    second = done.read(key)
    done.overwrite(key, first, **info.metadata)
    for ask in (job.finished, inspection.inspect, examine):
        with pytest.raises(ForeignObject, match=r"leads to revision 0, and .* to revision 1"):
            ask(done.spec)
    found = {(one.subject, one.kind.value) for one in verify(done.spec).findings}
    assert ("item", "old-item") in found
    assert "mosaic" not in {subject for subject, _ in found}
    if not done.place.root.startswith("s3:"):
        done.delete(key)  # a local file of other bytes than the last is nobody's
    report = done.repair()
    assert (report.exit_code, report.left) == (0, ())
    assert done.read(key) == second
    assert verify(done.spec).findings == ()


@pytest.mark.parametrize("make_place", ["s3"], indirect=True)
def test_an_item_of_other_bytes_than_were_written_is_written_again(done: Made) -> None:
    key = keys.item_key(done.job_id)
    whole, info = done.read(key), done.stored(key)
    done.overwrite(key, whole + b" ", **info.metadata)
    report = done.repair()
    assert report.exit_code == 0
    assert done.read(key) == whole


@LOCAL
def test_assembly_never_goes_back_to_an_older_revision(done: Made) -> None:
    renewed(done)
    done.delete(keys.item_key(done.job_id))
    assert examine(done.spec).revision == 1
    assert done.assemble().revision == 1
    assert job.finished(done.spec) is not None

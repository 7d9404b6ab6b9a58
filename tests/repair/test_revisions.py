"""Revisions: nothing published is written again, the pointer moves, readers are not disturbed."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from unittest import mock
from urllib.parse import urlsplit

import numpy as np
import pytest
import rasterio

from scenemosaic import job, keys
from scenemosaic.committing.commit import Outcome
from scenemosaic.committing.row_swap import swap_row
from scenemosaic.errors import ForeignObject, TransientStoreError
from scenemosaic.manifests.port import Row, Stale, Updated
from scenemosaic.publishing import publish, published
from scenemosaic.verification.verify import verify
from scenemosaic.waiting.retry import RetryPolicy
from tests.faults.effects import FakeTime
from tests.jobs.places import MakePlace
from tests.manifests.support import row
from tests.repair.conftest import MakeJob
from tests.repair.made import REPAIRER, Made, make
from tests.repair.writing import other_bytes, write_live
from tests.validators import assert_valid_cog

NAME = "0001_0001"


def revised(made: Made) -> job.MosaicResult:
    """A row has changed: the next revision."""
    write_live(made, NAME, other_bytes(made, NAME))
    return made.assemble(REPAIRER)


def key_of(made: Made, uri: str) -> str:
    return uri.removeprefix(f"{made.session.store.uri}/")


def test_the_next_revision_has_its_own_keys_and_the_old_one_stays(done: Made) -> None:
    before = done.place.versions()
    mosaic = revised(done)
    assert (mosaic.outcome, mosaic.revision) == ("written", 1)
    job_id = done.job_id
    assert key_of(done, mosaic.uri) == f"mosaics/{job_id}/r1/mosaic.tif"
    assert key_of(done, mosaic.preview) == f"mosaics/{job_id}/r1/preview.png"
    after = done.place.versions()
    for key in (keys.mosaic_key(job_id), keys.preview_key(job_id)):
        assert after[key] == before[key]
    item = done.item()
    assert item["properties"]["scenemosaic:revision"] == 1
    assert item["assets"]["data"]["href"] == "./r1/mosaic.tif"
    assert item["assets"]["preview"]["href"] == "./r1/preview.png"
    (mosaic_row,) = [done.row(keys.MOSAIC_ROW)]
    assert mosaic_row is not None
    assert (mosaic_row.output_uri, mosaic_row.etag) == (mosaic.uri, mosaic.etag)
    assert verify(done.spec).findings == ()
    assert revised(done).revision == 1, "nothing has changed since"


def test_everybody_follows_the_pointer(done: Made) -> None:
    mosaic = revised(done)
    found = job.finished(done.spec)
    assert found is not None
    assert (found.uri, found.preview, found.revision) == (mosaic.uri, mosaic.preview, 1)
    assert done.assemble().uri == mosaic.uri


def test_the_first_item_says_no_revision_and_which_rows(done: Made) -> None:
    properties = done.item()["properties"]
    assert "scenemosaic:revision" not in properties
    assert "scenemosaic:waived" not in properties
    assert len(properties["scenemosaic:rows_sha256"]) == 64


def test_the_new_mosaic_equals_one_built_afresh(
    local_place: MakePlace, small_scene: Path, tmp_path: Path
) -> None:
    afresh = make(local_place(), small_scene)
    repaired = make(local_place(), small_scene)
    write_live(repaired, NAME, other_bytes(repaired, "0000_0000"))  # another window's pixels
    assert repaired.assemble().revision == 1
    report = repaired.repair(NAME)
    assert report.mosaic is not None
    assert report.mosaic.revision == 2
    data = repaired.read(keys.mosaic_key(repaired.job_id, 2))
    assert data == afresh.read(keys.mosaic_key(afresh.job_id))
    path = tmp_path / "mosaic.tif"
    path.write_bytes(data)
    assert_valid_cog(path)


def test_a_revision_that_a_dead_run_left_is_adopted(done: Made) -> None:
    write_live(done, NAME, other_bytes(done, NAME))
    death = mock.patch.object(publish, "put_small", side_effect=KeyboardInterrupt)
    with death, pytest.raises(KeyboardInterrupt):
        done.assemble(REPAIRER)
    left = done.stored(keys.mosaic_key(done.job_id, 1))
    mosaic = done.assemble()
    assert (mosaic.outcome, mosaic.revision, mosaic.etag) == ("already-present", 1, left.etag)


def test_one_of_other_rows_is_passed_over(done: Made) -> None:
    write_live(done, NAME, other_bytes(done, NAME))
    death = mock.patch.object(publish, "put_small", side_effect=KeyboardInterrupt)
    with death, pytest.raises(KeyboardInterrupt):
        done.assemble(REPAIRER)
    write_live(done, "0000_0000", other_bytes(done, "0000_0000"))
    assert done.assemble(REPAIRER).revision == 2
    assert verify(done.spec).findings == ()


@pytest.mark.parametrize("by", ["assemble", "repair"])
def test_a_preview_that_was_deleted_is_made_again(done: Made, by: str) -> None:
    key = keys.preview_key(done.job_id)
    data = done.read(key)
    done.delete(key)
    if by == "repair":
        assert done.repair().state == "Repaired"
    else:
        done.assemble()
    assert done.read(key) == data


def test_a_mosaic_that_was_deleted_is_made_again(done: Made) -> None:
    key = keys.mosaic_key(done.job_id)
    data = done.read(key)
    done.delete(key)
    assert done.repair().state == "Repaired"
    assert done.read(key) == data
    assert verify(done.spec).findings == ()


def test_a_mosaic_that_was_damaged_gets_a_successor(done: Made) -> None:
    sound = done.read(keys.mosaic_key(done.job_id))
    bad = done.damage(keys.mosaic_key(done.job_id))
    report = done.repair()
    assert report.mosaic is not None
    assert (report.state, report.mosaic.revision) == ("Repaired", 1)
    assert done.read(keys.mosaic_key(done.job_id)) == bad, "what is not ours stays"
    assert done.read(keys.mosaic_key(done.job_id, 1)) == sound
    assert done.repair().state == "NothingToRepair"


def edited(**changes: Any) -> Callable[[dict[str, Any]], None]:
    return lambda item: item.update(changes)


def with_href(href: str) -> Callable[[dict[str, Any]], None]:
    return lambda item: item["assets"]["data"].update(href=href)


def with_property(name: str, value: Any) -> Callable[[dict[str, Any]], None]:
    return lambda item: item["properties"].update({f"scenemosaic:{name}": value})


EDITS = {
    "another-job": edited(id="0" * 32),
    "no-feature": edited(type="Catalog"),
    "elsewhere": with_href("https://elsewhere.example/mosaic.tif"),
    "upwards": with_href("../../tiles/x.tif"),
    "other-revision": with_href("./r7/mosaic.tif"),
    "revision-no-number": with_property("revision", "1"),
    "revision-negative": with_property("revision", -1),
    "revision-bool": with_property("revision", True),
    "rows-no-digest": with_property("rows_sha256", "x"),
    "waived-no-map": with_property("waived", 7),
    "another-recipe": with_property("recipe_sha256", "ab"),
    "no-assets": edited(assets=[]),
}


NO_JSON = {"empty": b"", "no-json": b"\xff{", "a-list": b"[1]"}
# What is checked does not depend on the store; how an empty object is read does.
BY_STORE = [*(("local", edit) for edit in (*EDITS, *NO_JSON)), ("s3", "elsewhere"), ("s3", "empty")]


@pytest.mark.parametrize(("make_place", "edit"), BY_STORE, indirect=["make_place"])
def test_an_item_that_is_not_ours_is_a_conflict(done: Made, edit: str) -> None:
    key = keys.item_key(done.job_id)
    item = done.item()
    if edit in EDITS:
        EDITS[edit](item)
        data = json.dumps(item).encode()
    else:
        data = NO_JSON[edit]
    done.overwrite(key, data)
    for ask in (lambda: job.finished(done.spec), done.assemble):
        with pytest.raises(ForeignObject, match=r"item\.json") as caught:
            ask()
        assert caught.value.exit_code == 4
    report = done.repair()
    assert (report.exit_code, report.state) == (4, "ForeignObject")
    assert done.read(key) == data


@pytest.mark.parametrize("make_place", ["s3"], indirect=True)  # locally it would be foreign
def test_an_item_of_an_older_version_is_moved_on(done: Made) -> None:
    """It does not say from which rows: its mosaic's own digest does."""
    item = done.item()
    del item["properties"]["scenemosaic:rows_sha256"]
    info = done.stored(keys.item_key(done.job_id))
    done.overwrite(keys.item_key(done.job_id), json.dumps(item).encode(), **info.metadata)
    assert job.finished(done.spec) is not None
    mosaic = done.assemble()
    assert mosaic.revision == 0
    assert "scenemosaic:rows_sha256" in done.item()["properties"]


def blocks_of(dataset: Any) -> list[tuple[int, Any]]:
    return [
        (level, window)
        for level in range(dataset.count)
        for _, window in dataset.block_windows(level + 1)
    ]


def test_a_reader_of_a_local_mosaic_reads_every_block_through_a_repair(
    local_place: MakePlace, small_scene: Path
) -> None:
    made = make(local_place(), small_scene)
    path = made.path(keys.mosaic_key(made.job_id))
    _read_through(made, str(path))


def _read_through(made: Made, name: str) -> None:
    """Half of the blocks before the repair, half after it, from one open dataset."""
    options = {"GDAL_DISABLE_READDIR_ON_OPEN": "EMPTY_DIR", "VSI_CACHE": "FALSE"}
    options |= {"CPL_VSIL_CURL_NON_CACHED": "/vsicurl/"}
    with rasterio.Env(**options), rasterio.open(name) as dataset:
        expected = _pixels(made)
        blocks = blocks_of(dataset)
        middle = len(blocks) // 2
        _compare(dataset, blocks[:middle], expected)
        write_live(made, NAME, other_bytes(made, "0000_0000"))
        assert made.assemble().revision == 1
        assert made.repair(NAME).exit_code == 0
        _compare(dataset, blocks[middle:], expected)


def _pixels(made: Made) -> Any:
    with rasterio.open(made.scene) as source:
        return source.read()


def _compare(dataset: Any, blocks: list[tuple[int, Any]], expected: Any) -> None:
    for band, window in blocks:
        rows, columns = window.toslices()
        assert np.array_equal(dataset.read(band + 1, window=window), expected[band][rows, columns])


@contextmanager
def served(made: Made, key: str) -> Iterator[str]:
    """A web server in front of the object, which reads just the range it is asked for."""

    class Handler(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self._answer(with_body=False)

        def do_GET(self) -> None:
            self._answer(with_body=True)

        def _answer(self, *, with_body: bool) -> None:
            data = made.read(key)
            first, last = 0, len(data) - 1
            asked = self.headers.get("Range")
            if asked:
                begin, _, end = asked.removeprefix("bytes=").partition("-")
                first, last = int(begin), min(int(end or last), last)
            self.send_response(206 if asked else 200)
            self.send_header("Accept-Ranges", "bytes")
            self.send_header("Content-Length", str(last - first + 1))
            self.send_header("Content-Range", f"bytes {first}-{last}/{len(data)}")
            self.end_headers()
            if with_body:
                self.wfile.write(data[first : last + 1])

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"/vsicurl/http://127.0.0.1:{server.server_address[1]}/mosaic.tif"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.mark.parametrize("make_place", ["s3"], indirect=True)
def test_a_reader_over_http_reads_every_block_through_a_repair(make_job: MakeJob) -> None:
    made = make_job()
    with served(made, keys.mosaic_key(made.job_id)) as name:
        _read_through(made, name)


class LostReplies:
    """A manifest whose first replies are lost; ``lands`` says whether the change was made."""

    def __init__(self, made: Made, lands: bool) -> None:
        self.inner, self.lands, self.lost = made.session.manifest, lands, False

    def replace(self, new: Row, revision: int) -> Updated | Stale:
        if self.lost:
            return self.inner.replace(new, revision)
        self.lost = True
        if self.lands:
            self.inner.replace(new, revision)
        raise TransientStoreError("reply lost")


@pytest.mark.parametrize("lands", [True, False])
def test_a_lost_reply_to_a_row_is_recovered(done: Made, lands: bool) -> None:
    manifest: Any = LostReplies(done, lands)
    new = row(NAME, done.session.partition(done.spec), written_by="me")
    answer = swap_row(manifest, new, 1, RetryPolicy(), FakeTime().effects())
    assert isinstance(answer, Updated)
    assert answer.row.revision == 2
    assert isinstance(swap_row(manifest, new, 1, RetryPolicy(), FakeTime().effects()), Stale)


def test_an_item_that_was_moved_meanwhile_is_looked_at_again(done: Made) -> None:
    """Somebody publishes between our look and our move: the pointer ends at the newest rows."""
    write_live(done, NAME, other_bytes(done, NAME))
    real, moved = publish.move_item, []

    def move(*arguments: Any) -> bool:
        if not moved:
            moved.append(True)
            write_live(done, "0000_0000", other_bytes(done, "0000_0000"))
            done.assemble()
        return real(*arguments)

    with mock.patch.object(publish, "move_item", move):
        mosaic = done.assemble(REPAIRER)
    assert (mosaic.revision, mosaic.outcome) == (2, Outcome.ALREADY_PRESENT.value)
    assert verify(done.spec).findings == ()
    assert published.mosaic_row(done.session, done.spec) is not None


def test_the_keys_of_a_revision() -> None:
    job_id = "0" * 32
    assert keys.revision_key(job_id, 0, "mosaic.tif") == f"mosaics/{job_id}/mosaic.tif"
    assert keys.revision_key(job_id, 12, "mosaic.tif") == f"mosaics/{job_id}/r12/mosaic.tif"
    assert urlsplit(keys.preview_key(job_id, 3)).path == f"mosaics/{job_id}/r3/preview.png"

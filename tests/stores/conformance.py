"""What every store must do. Each check takes a fresh :class:`Harness`; see test_conformance."""

import dataclasses
import functools
import hashlib
import os
import time
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from scenemosaic.errors import IncompleteError, InputError, StoreError
from scenemosaic.keys import TIFF_CONTENT_TYPE
from scenemosaic.stores.port import (
    Answer,
    Body,
    CopyRun,
    IfAbsent,
    IfMatch,
    Literal,
    ObjectInfo,
    Segment,
    Store,
    WriteResult,
)
from tests.stores.doors import Harness

Check = Callable[[Harness], None]
MIB = 1 << 20
KEY = "tiles/0123/0000_0001.tif"
SPOILT = "tiles/0123/0000_0002.tif"
MOSAIC = "mosaics/0123/mosaic.tif"


def body(data: bytes, write_id: str = "run-1/0000_0001") -> Body:
    digest = hashlib.sha256(data).hexdigest()
    metadata = {"sha256": digest, "write_id": write_id, "job_id": "0123"}
    return Body(data, digest, TIFF_CONTENT_TYPE, metadata)


@functools.cache
def noise(size_bytes: int) -> bytes:
    """Bytes no two stretches of which are alike, made once: every check has a root of its own."""
    return os.urandom(size_bytes)


def written(result: WriteResult) -> ObjectInfo:
    assert result.answer is Answer.WRITTEN
    assert result.info is not None
    return result.info


def create(store: Store, data: bytes, key: str = KEY) -> ObjectInfo:
    return written(store.put(key, body(data), IfAbsent()))


def compose(
    store: Store,
    segments: list[Segment],
    condition: IfAbsent | IfMatch | None = None,
    write_id: str = "run-1/mosaic",
) -> WriteResult:
    metadata = {"digest": "d", "write_id": write_id}
    return store.compose(MOSAIC, segments, condition or IfAbsent(), TIFF_CONTENT_TYPE, metadata)


def creates_and_reads_back(h: Harness) -> None:
    assert h.store.head(KEY) is None
    sent = create(h.store, b"first")
    found = h.store.head(KEY)
    assert found is not None
    assert h.door.read(KEY) == b"first"
    assert (found.key, found.size_bytes, found.etag) == (KEY, 5, sent.etag)
    assert found.version_id == sent.version_id
    assert found.content_type == TIFF_CONTENT_TYPE
    assert found.metadata == body(b"first").metadata
    assert found.last_modified.endswith("Z")


def creates_nothing_twice(h: Harness) -> None:
    first = create(h.store, b"first")
    before = h.door.stamp(KEY)
    time.sleep(1.1)  # LastModified has a resolution of one second.
    again = h.store.put(KEY, body(b"second", "run-2/0000_0001"), IfAbsent())
    assert again.answer is Answer.REFUSED
    assert again.info is None
    assert h.door.read(KEY) == b"first"
    assert h.door.stamp(KEY) == before
    assert h.door.versions(KEY) == 1
    found = h.store.head(KEY)
    assert found is not None
    assert (found.etag, found.metadata["write_id"]) == (first.etag, "run-1/0000_0001")


def refuses_a_stale_match(h: Harness) -> None:
    first = create(h.store, b"first")
    second = written(h.store.put(KEY, body(b"second"), IfMatch(first.etag)))
    stale = h.store.put(KEY, body(b"third"), IfMatch(first.etag))
    assert stale.answer is Answer.REFUSED
    assert h.door.read(KEY) == b"second"
    found = h.store.head(KEY)
    assert found is not None
    assert found.etag == second.etag


def refuses_to_match_what_is_absent(h: Harness) -> None:
    assert h.store.put(KEY, body(b"data"), IfMatch('"1"')).answer is Answer.GONE
    info = create(h.store, b"first")
    h.door.delete(KEY)
    assert h.store.put(KEY, body(b"data"), IfMatch(info.etag)).answer is Answer.GONE
    assert h.store.head(KEY) is None
    assert h.door.keys() == []


def tells_a_return_to_old_content(h: Harness) -> None:
    first = create(h.store, b"x")
    second = written(h.store.put(KEY, body(b"y"), IfMatch(first.etag)))
    third = written(h.store.put(KEY, body(b"x"), IfMatch(second.etag)))
    identities = {(info.etag, info.version_id) for info in (first, second, third)}
    # An unversioned bucket cannot tell: its ETag may be a content hash.
    assert len(identities) == (3 if h.versioned or not h.store.capabilities.versions else 2)


def counts_by_compare_and_swap(h: Harness) -> None:
    written(h.store.put("ledger/count.json", body(b"0"), IfAbsent()))

    def work(worker: int) -> None:
        done = 0
        while done < 10:
            info = h.store.head("ledger/count.json")
            assert info is not None
            try:
                count = int(h.store.get("ledger/count.json", etag=info.etag))
            except IncompleteError:
                continue  # Replaced between the two reads: read again.
            new = body(str(count + 1).encode(), f"{worker}/{done}")
            answer = h.store.put("ledger/count.json", new, IfMatch(info.etag)).answer
            done += answer is Answer.WRITTEN

    with ThreadPoolExecutor(5) as pool:
        list(pool.map(work, range(5)))
    assert h.door.read("ledger/count.json") == b"50"


def reads_ranges(h: Harness) -> None:
    info = create(h.store, b"0123456789")
    assert h.store.get(KEY) == b"0123456789"
    assert h.store.get(KEY, 2, 3) == b"234"
    assert h.store.get(KEY, 7) == b"789"
    assert h.store.get(KEY, 8, 100, info.etag) == b"89"
    assert h.store.get(KEY, 10, 5) == b""
    assert h.store.get(KEY, 3, 0) == b""


def reads_only_the_pinned_version(h: Harness) -> None:
    info = create(h.store, b"first")
    written(h.store.put(KEY, body(b"second"), IfMatch(info.etag)))
    with pytest.raises(IncompleteError, match=KEY):
        h.store.get(KEY, etag=info.etag)
    with pytest.raises(IncompleteError, match="absent"):
        h.store.get("tiles/none.tif")


def lists_every_page_in_order(h: Harness) -> None:
    keys = [f"tiles/a/{number:04d}.tif" for number in range(h.listed)]
    others = ["tiles/a-b/1.tif", "tiles/a.tif", "tiles/b/1.tif"]
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda key: h.door.write(key, b"x"), keys + others))
    info = create(h.store, b"ours", "tiles/a/ours.tif")
    listed = list(h.store.list("tiles/a/"))
    assert [found.key for found in listed] == [*keys, "tiles/a/ours.tif"]
    assert (listed[-1].etag, listed[-1].size_bytes) == (info.etag, 4)
    everything = [found.key for found in h.store.list("")]
    assert everything == sorted([*keys, *others, "tiles/a/ours.tif"], key=os.fsencode)
    assert [found.key for found in h.store.list("tiles/a.")] == ["tiles/a.tif"]
    assert list(h.store.list("nothing/")) == []


def composes_small_objects(h: Harness) -> None:
    info = create(h.store, b"0123456789")
    segments = [Literal(b"ab"), CopyRun(KEY, info.etag, 3, 4), Literal(b"z")]
    sent = written(compose(h.store, segments))
    found = h.store.head(MOSAIC)
    assert found is not None
    assert h.door.read(MOSAIC) == b"ab3456z"
    assert (found.etag, found.size_bytes, sent.size_bytes) == (sent.etag, 7, 7)
    assert found.content_type == TIFF_CONTENT_TYPE
    assert found.metadata == {"digest": "d", "write_id": "run-1/mosaic"}
    assert h.door.open_uploads() == 0


def large(h: Harness) -> tuple[list[Segment], bytes]:
    """Segments that make four parts on S3: gathered, copied, copied, gathered."""
    data = noise(12 * MIB)
    etag = create(h.store, data).etag
    segments: list[Segment] = [
        Literal(b"header"),
        CopyRun(KEY, etag, MIB, 11 * MIB),
        CopyRun(KEY, etag, 0, 6 * MIB),
        CopyRun(KEY, etag, 5, 100),
    ]
    return segments, b"header" + data[MIB:] + data[: 6 * MIB] + data[5:105]


def composes_large_objects(h: Harness) -> None:
    segments, expected = large(h)
    sent = written(compose(h.store, segments))
    found = h.store.head(MOSAIC)
    assert found is not None
    assert h.door.read(MOSAIC) == expected
    assert (found.etag, found.size_bytes) == (sent.etag, len(expected))
    assert found.version_id == sent.version_id
    assert found.content_type == TIFF_CONTENT_TYPE
    assert found.metadata == {"digest": "d", "write_id": "run-1/mosaic"}
    assert h.door.open_uploads() == 0


def refuses_to_compose_twice(h: Harness) -> None:
    segments, _ = large(h)
    h.door.write(MOSAIC, b"stands")
    before = h.door.stamp(MOSAIC)
    time.sleep(1.1)
    for wanted in (segments, [Literal(b"small")]):
        assert compose(h.store, wanted).answer is Answer.REFUSED
    assert h.door.read(MOSAIC) == b"stands"
    assert h.door.stamp(MOSAIC) == before
    assert h.door.open_uploads() == 0


def composes_by_match(h: Harness) -> None:
    segments, expected = large(h)
    first = written(compose(h.store, [Literal(b"first")]))
    second = written(compose(h.store, segments, IfMatch(first.etag), "run-2/mosaic"))
    assert h.door.read(MOSAIC) == expected
    stale = compose(h.store, [Literal(b"small")], IfMatch(first.etag), "run-3/mosaic")
    assert stale.answer is Answer.REFUSED
    lost = compose(h.store, segments, IfMatch(first.etag), "run-4/mosaic").answer
    ignored = "complete-if-match" in h.defects
    assert lost is (Answer.WRITTEN if ignored else Answer.REFUSED)
    found = h.store.head(MOSAIC)
    assert found is not None
    assert ignored or found.etag == second.etag
    assert h.door.open_uploads() == 0


def composes_only_from_pinned_versions(h: Harness) -> None:
    segments, _ = large(h)
    wrong = [
        [Literal(b"ab"), CopyRun(KEY, '"0"', 0, 10)],
        [CopyRun("tiles/none.tif", '"0"', 0, 6 * MIB), *segments],
        [Literal(b"ab"), CopyRun(KEY, '"0"', 0, 12 * MIB)],
    ]
    for pieces in wrong:
        with pytest.raises(IncompleteError):
            compose(h.store, pieces)
    pinned = [CopyRun(KEY, '"0"', 0, 6 * MIB), Literal(b"z")]
    if "copy-pin" in h.defects:
        written(compose(h.store, pinned))
        h.door.delete(MOSAIC)
    else:
        with pytest.raises(IncompleteError):
            compose(h.store, pinned)
    assert h.store.head(MOSAIC) is None
    assert h.door.open_uploads() == 0


def composes_only_whole_runs(h: Harness) -> None:
    etag = create(h.store, noise(6 * MIB)).etag
    for run in (CopyRun(KEY, etag, 6 * MIB - 3, 10), CopyRun(KEY, etag, MIB, 6 * MIB)):
        with pytest.raises((IncompleteError, StoreError)):
            compose(h.store, [run, Literal(b"z")])
    assert h.store.head(MOSAIC) is None
    assert h.door.open_uploads() == 0


def composes_only_undamaged_runs(h: Harness) -> None:
    """The row says what a run's bytes were: other bytes under the pinned ETag stop it, named."""
    data = noise(900 << 10)
    sound = CopyRun(KEY, create(h.store, data).etag, 7, len(data) - 7, zlib.crc32(data[7:]))
    h.door.write(SPOILT, data[:5000] + bytes([data[5000] ^ 1]) + data[5001:])
    found = h.store.head(SPOILT)
    assert found is not None
    damaged = dataclasses.replace(sound, key=SPOILT, etag=found.etag)
    head, rest = Literal(bytes(16 * MIB - 1000)), Literal(bytes(17 * MIB))
    # Behind `head` every store cuts the run in two.
    for before, after in ((Literal(b"h"), Literal(b"t")), (head, rest), (rest, Literal(b""))):
        with pytest.raises(IncompleteError, match=f"{SPOILT} holds other bytes"):
            compose(h.store, [before, damaged, sound, after])
        assert h.store.head(MOSAIC) is None
        assert h.door.open_uploads() == 0
        written(compose(h.store, [before, sound, after]))
        stored = h.door.read(MOSAIC)
        assert stored[before.size_bytes :].startswith(data[7:])
        h.door.delete(MOSAIC)


def lets_one_of_many_win(h: Harness) -> None:
    threads = 32
    with ThreadPoolExecutor(threads) as pool:
        for number in range(h.race_rounds):
            key, barrier = f"tiles/race/{number}.tif", Barrier(threads)

            def race(worker: int, key: str = key, barrier: Barrier = barrier) -> Answer:
                barrier.wait()
                return h.store.put(key, body(b"worker %d" % worker), IfAbsent()).answer

            answers = list(pool.map(race, range(threads)))
            assert answers.count(Answer.WRITTEN) == 1
            assert set(answers) <= {Answer.WRITTEN, Answer.REFUSED, Answer.RACING}
            winner = answers.index(Answer.WRITTEN)
            assert h.door.read(key) == b"worker %d" % winner
            assert h.door.versions(key) == 1


def lets_one_of_many_compositions_win(h: Harness) -> None:
    segments, expected = large(h)
    barrier = Barrier(4)

    def race(worker: int) -> Answer:
        barrier.wait()
        write_id = f"run-{worker}/mosaic"
        return compose(h.store, [Literal(b"%d" % worker), *segments], write_id=write_id).answer

    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(race, range(4)))
    winners = [worker for worker, answer in enumerate(answers) if answer is Answer.WRITTEN]
    # Where the check and the completion are two steps, luck decides how many win.
    assert len(winners) == 1 or "complete-not-atomic" in h.defects
    assert h.door.read(MOSAIC) in [b"%d" % worker + expected for worker in winners]
    assert h.door.versions(MOSAIC) == len(winners)
    assert h.door.open_uploads() == 0


def knows_a_foreign_object(h: Harness) -> None:
    h.door.write(KEY, b"theirs")
    found = h.store.head(KEY)
    assert found is not None
    assert not {"sha256", "digest", "write_id"} & set(found.metadata)
    assert h.store.put(KEY, body(b"ours"), IfAbsent()).answer is Answer.REFUSED
    assert h.store.get(KEY, etag=found.etag) == b"theirs"
    h.door.write(KEY, b"theirs, later")
    assert h.store.put(KEY, body(b"ours"), IfMatch(found.etag)).answer is Answer.REFUSED
    now = h.store.head(KEY)
    assert now is not None
    written(h.store.put(KEY, body(b"ours"), IfMatch(now.etag)))
    assert h.door.read(KEY) == b"ours"


def creates_again_what_was_deleted(h: Harness) -> None:
    first = create(h.store, b"first")
    h.door.delete(KEY)
    assert h.store.head(KEY) is None
    again = create(h.store, b"again")
    assert h.door.read(KEY) == b"again"
    assert again.etag != first.etag
    assert h.door.versions(KEY) == (2 if h.versioned else 1)


def declares_its_capabilities(h: Harness) -> None:
    info = create(h.store, b"first")
    assert isinstance(getattr(h.store, "inner", h.store), Store)
    assert h.store.capabilities.if_match
    assert (info.version_id is not None) == h.versioned
    if not h.store.capabilities.versions:
        assert info.version_id is None
    assert h.store.object_uri(KEY) == f"{h.store.uri}/{KEY}"
    copying = h.store.capabilities.copying
    assert copying.least_bytes >= 0 < copying.most_runs


def refuses_unusable_keys(h: Harness) -> None:
    for key in ("", "/a", "a//b", "../a", "a/../../b", "a/", "a\nb", "a\\b", "."):
        for call in (h.store.head, h.store.get, h.store.object_uri):
            with pytest.raises(InputError):
                call(key)
        with pytest.raises(InputError):
            h.store.put(key, body(b"x"), IfAbsent())
    assert h.door.keys() == []


CONDITIONS: tuple[Check, ...] = (
    creates_nothing_twice,
    refuses_a_stale_match,
    refuses_to_match_what_is_absent,
    counts_by_compare_and_swap,
    refuses_to_compose_twice,
    composes_by_match,
    lets_one_of_many_win,
    lets_one_of_many_compositions_win,
    knows_a_foreign_object,
)
OTHERS: tuple[Check, ...] = (
    creates_and_reads_back,
    tells_a_return_to_old_content,
    reads_ranges,
    reads_only_the_pinned_version,
    lists_every_page_in_order,
    composes_small_objects,
    composes_large_objects,
    composes_only_from_pinned_versions,
    composes_only_whole_runs,
    composes_only_undamaged_runs,
    creates_again_what_was_deleted,
    declares_its_capabilities,
    refuses_unusable_keys,
)

"""The Azure store behind a proxy that loses replies; blocks that get lost; left-overs."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime

import pytest

from scenemosaic.committing.commit import Outcome
from scenemosaic.errors import IncompleteError
from scenemosaic.stores.port import Answer, CopyRun, IfAbsent, IfMatch, Literal
from tests import servers
from tests.faults.proxy import Fault, once
from tests.faults.wire import Request
from tests.stores.conformance import KEY, MIB, MOSAIC, create, large
from tests.stores.faulty import METADATA, Faulty, azure, is_commit


@pytest.fixture(params=["streamed", "copied"])
def faulty(request: pytest.FixtureRequest, azurite: str) -> Iterator[Faulty]:
    with azure(azurite, copied=request.param == "copied") as found:
        yield found


@pytest.mark.parametrize("fault", [Fault.CUT_REQUEST, Fault.REFUSE_503])
def test_a_commit_that_never_came_is_composed_again(faulty: Faulty, fault: Fault) -> None:
    segments, expected = large(faulty.harness)
    faulty.proxy.rule = once(fault, is_commit)
    done = faulty.commit_composed(segments)
    assert done.outcome is Outcome.WRITTEN
    assert done.counters["own_write_recovered"] == 0
    assert faulty.door.read(MOSAIC) == expected


def before_the_commit(faulty: Faulty, act: Callable[[], object]) -> None:
    def rule(request: Request) -> None:
        if is_commit(request):
            act()

    faulty.proxy.rule = rule


def test_who_comes_in_between_wins_against_a_block_list(faulty: Faulty) -> None:
    """Scenario 6: a single request lands during another worker's upload."""
    segments, _ = large(faulty.harness)
    before_the_commit(faulty, lambda: faulty.door.write(MOSAIC, b"stands"))
    result = faulty.store.compose(MOSAIC, segments, IfAbsent(), "image/tiff", METADATA)
    assert result.answer is Answer.REFUSED
    assert faulty.door.read(MOSAIC) == b"stands"


def test_a_target_that_changes_in_between_is_told_from_one_that_goes(faulty: Faulty) -> None:
    segments, _ = large(faulty.harness)
    first = create(faulty.store, b"first", MOSAIC)
    before_the_commit(faulty, lambda: faulty.door.write(MOSAIC, b"stands"))
    result = faulty.store.compose(MOSAIC, segments, IfMatch(first.etag), "image/tiff", METADATA)
    assert result.answer is Answer.REFUSED
    assert faulty.door.read(MOSAIC) == b"stands"
    second = faulty.store.head(MOSAIC)
    assert second is not None
    before_the_commit(faulty, lambda: faulty.door.delete(MOSAIC))
    result = faulty.store.compose(MOSAIC, segments, IfMatch(second.etag), "image/tiff", METADATA)
    assert result.answer is Answer.GONE
    assert faulty.door.keys() == [KEY]


def test_blocks_that_another_commit_threw_away_are_staged_anew(faulty: Faulty) -> None:
    """Somebody committed, and somebody deleted that: the key is free and our blocks are gone."""
    segments, expected = large(faulty.harness)
    seen = []

    def write_and_delete(request: Request) -> None:
        if request.method == "GET" and "comp=blocklist" in request.query and not seen:
            seen.append(request)
            faulty.door.write(MOSAIC, b"stands")
            faulty.door.delete(MOSAIC)

    faulty.proxy.rule = write_and_delete
    done = faulty.commit_composed(segments)
    assert done.outcome is Outcome.WRITTEN
    assert done.counters["conflict_409_retried"] == 1
    assert faulty.door.read(MOSAIC) == expected


def test_a_failed_composition_leaves_nothing_that_is_seen(faulty: Faulty) -> None:
    segments, expected = large(faulty.harness)
    wrong = [*segments, CopyRun(KEY, '"0x1"', 0, 16 * MIB)]
    with pytest.raises(IncompleteError, match=KEY):
        faulty.store.compose(MOSAIC, wrong, IfAbsent(), "image/tiff", METADATA)
    # Azure itself drops staged blocks after a week, and nothing else can.
    assert faulty.door.uncommitted() in ([MOSAIC], [])
    assert faulty.store.head(MOSAIC) is None
    assert [found.key for found in faulty.store.list("")] == [KEY]
    result = faulty.store.compose(MOSAIC, segments, IfAbsent(), "image/tiff", METADATA)
    assert result.answer is Answer.WRITTEN
    assert faulty.door.read(MOSAIC) == expected
    assert faulty.door.uncommitted() == []


def test_two_uploads_never_share_a_block(faulty: Faulty) -> None:
    segments = [Literal(bytes([number]) * (9 * MIB)) for number in (1, 2)]
    held = []

    def compose_inside(request: Request) -> None:
        if is_commit(request) and not held:
            held.append(request)
            other = list(reversed(segments))
            result = faulty.store.compose(MOSAIC, other, IfAbsent(), "image/tiff", METADATA)
            held.append(result.answer)

    # The outer upload's blocks are staged when the inner one stages and commits its own.
    stage = faulty.more.blob
    faulty.more.blob = lambda name: _Interrupted(stage(name), compose_inside)  # type: ignore
    result = faulty.store.compose(MOSAIC, segments, IfAbsent(), "image/tiff", METADATA)
    assert held[1] is Answer.WRITTEN
    assert result.answer is Answer.REFUSED
    assert faulty.door.read(MOSAIC) == segments[1].data + segments[0].data


class _Interrupted:
    """A blob client whose first commit is preceded by something else."""

    def __init__(self, inner: object, act: Callable[[Request], None]) -> None:
        self._inner = inner
        self._act = act

    def __getattr__(self, name: str) -> object:
        if name == "commit_block_list":
            self._act(Request("PUT", "/", "comp=blocklist", {}))
        return getattr(self._inner, name)


def test_a_source_url_is_signed_for_reading_for_an_hour(faulty: Faulty) -> None:
    url = faulty.more.source_url("p/a b/ü+%.tif", datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC))
    assert url is not None
    assert "/p/a%20b/%C3%BC%2B%25.tif?" in url
    assert "se=2026-01-02T04%3A04%3A05Z" in url
    assert "sp=r&" in url
    assert servers.AZURITE_KEY not in url

"""The Cloud Storage store behind a proxy that loses replies, and sessions that lose bytes."""

import logging
from collections.abc import Iterator

import pytest

from scenemosaic.committing.commit import Outcome
from scenemosaic.errors import IncompleteError, PermanentStoreError, TransientStoreError
from scenemosaic.stores.port import Answer, CopyRun, IfAbsent
from tests.faults.proxy import Fault, once
from tests.faults.wire import Request
from tests.stores.conformance import KEY, MIB, MOSAIC, body, large
from tests.stores.faulty import FAST, METADATA, Faulty, gcs, is_chunk, is_last_chunk


@pytest.fixture
def faulty(fake_gcs: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Faulty]:
    with gcs(fake_gcs, monkeypatch) as found:
        yield found


@pytest.mark.parametrize("fault", [*FAST, Fault.CUT_REQUEST, Fault.REFUSE_503])
@pytest.mark.parametrize("struck", [is_chunk, is_last_chunk])
def test_a_chunk_goes_on_where_the_session_stands(
    faulty: Faulty, fault: Fault, struck: object
) -> None:
    segments, expected = large(faulty.harness)
    faulty.proxy.clear()
    faulty.proxy.rule = once(fault, struck)  # type: ignore[arg-type]
    result = faulty.store.compose(MOSAIC, segments, IfAbsent(), "image/tiff", METADATA)
    assert result.answer is Answer.WRITTEN
    assert faulty.door.read(MOSAIC) == expected
    assert faulty.door.versions(MOSAIC) == 1
    assert faulty.more.started == 1


def test_a_lost_start_is_composed_again(faulty: Faulty) -> None:
    segments, expected = large(faulty.harness)
    faulty.proxy.rule = once(Fault.RESET)
    done = faulty.commit_composed(segments)
    assert done.outcome is Outcome.WRITTEN
    assert faulty.door.read(MOSAIC) == expected
    assert faulty.more.started == 2


@pytest.mark.parametrize("kept", [0, 256 << 10, 5 * MIB])
def test_a_session_that_kept_less_is_sent_the_rest(faulty: Faulty, kept: int) -> None:
    segments, expected = large(faulty.harness)
    faulty.more.keeps = [kept]
    result = faulty.store.compose(MOSAIC, segments, IfAbsent(), "image/tiff", METADATA)
    assert result.answer is Answer.WRITTEN
    assert faulty.door.read(MOSAIC) == expected


def test_a_session_that_keeps_nothing_is_given_up_and_cancelled(faulty: Faulty) -> None:
    segments, _ = large(faulty.harness)
    faulty.more.keeps = [0] * 99
    with pytest.raises(TransientStoreError, match=MOSAIC):
        faulty.store.compose(MOSAIC, segments, IfAbsent(), "image/tiff", METADATA)
    assert faulty.door.open_uploads() == 0
    assert faulty.store.head(MOSAIC) is None


def test_a_session_that_is_gone_is_ambiguous_and_composed_again(faulty: Faulty) -> None:
    segments, expected = large(faulty.harness)
    forgetting = [True]

    def forget(request: Request) -> None:
        if is_last_chunk(request) and forgetting:
            forgetting.clear()
            faulty.more.forget_sessions()

    faulty.proxy.rule = forget
    done = faulty.commit_composed(segments)
    assert done.outcome is Outcome.WRITTEN
    assert done.counters["ambiguous"] == 1
    assert faulty.door.read(MOSAIC) == expected


def test_who_comes_in_between_wins_against_a_session(faulty: Faulty) -> None:
    """Scenario 6: a single request lands during another worker's upload."""
    segments, _ = large(faulty.harness)

    def intervene(request: Request) -> None:
        if is_last_chunk(request):
            faulty.door.write(MOSAIC, b"stands")

    faulty.proxy.rule = intervene
    result = faulty.store.compose(MOSAIC, segments, IfAbsent(), "image/tiff", METADATA)
    assert result.answer is Answer.REFUSED
    assert faulty.door.read(MOSAIC) == b"stands"
    assert faulty.door.versions(MOSAIC) == 1
    assert faulty.door.open_uploads() == 0


def test_a_source_that_fails_half_way_leaves_no_session(faulty: Faulty) -> None:
    segments, _ = large(faulty.harness)
    wrong = [*segments, CopyRun(KEY, "17", 0, 16 * MIB)]
    with pytest.raises(IncompleteError, match=KEY):
        faulty.store.compose(MOSAIC, wrong, IfAbsent(), "image/tiff", METADATA)
    assert faulty.door.open_uploads() == 0
    assert faulty.store.head(MOSAIC) is None


def test_an_upload_that_cannot_be_cancelled_is_named(
    faulty: Faulty, caplog: pytest.LogCaptureFixture
) -> None:
    segments, _ = large(faulty.harness)
    faulty.more.keeps = [0] * 99
    faulty.proxy.rule = lambda seen: Fault.REFUSE_503 if seen.method == "DELETE" else None
    with (
        caplog.at_level(logging.WARNING, "scenemosaic.stores.gcs_upload"),
        pytest.raises(TransientStoreError),
    ):
        faulty.store.compose(MOSAIC, segments, IfAbsent(), "image/tiff", METADATA)
    assert "still open" in caplog.text
    assert MOSAIC in caplog.text
    assert "upload_id" not in caplog.text


def test_a_body_that_is_damaged_on_its_way_is_refused(
    faulty: Faulty, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scenemosaic.stores.gcs_requests.crc32c", lambda data: "AAAAAA==")
    with pytest.raises(PermanentStoreError, match="HTTP 400"):
        faulty.store.put(KEY, body(b"data"), IfAbsent())
    assert faulty.store.head(KEY) is None

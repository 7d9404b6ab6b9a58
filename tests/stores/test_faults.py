"""What one fault may never cost, on every remote store: one suite for all adapters."""

import pickle
from collections.abc import Iterator

import pytest

from scenemosaic.committing.commit import Outcome, commit_object
from scenemosaic.errors import TransientStoreError
from scenemosaic.stores.port import Answer, IfAbsent, IfMatch
from tests.faults.effects import FakeTime
from tests.faults.proxy import Fault, once
from tests.stores import faulty as kinds
from tests.stores.conformance import KEY, MOSAIC, body, create, large
from tests.stores.faulty import FAST, METADATA, POLICY, Faulty


@pytest.fixture(params=["s3", "gs", "az", "az-copied"])
def faulty(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Faulty]:
    if request.param == "s3":
        opened = kinds.s3(request.getfixturevalue("ministack"), monkeypatch)
    elif request.param == "gs":
        opened = kinds.gcs(request.getfixturevalue("fake_gcs"), monkeypatch)
    else:
        azurite = request.getfixturevalue("azurite")
        opened = kinds.azure(azurite, copied=request.param == "az-copied")
    with opened as found:
        yield found


@pytest.mark.parametrize("fault", FAST)
def test_a_request_is_sent_once(faulty: Faulty, fault: Fault) -> None:
    faulty.proxy.rule = once(fault)
    with pytest.raises(TransientStoreError, match=KEY):
        faulty.store.put(KEY, body(b"data"), IfAbsent())
    assert len(faulty.proxy.mutations) == 1


@pytest.mark.parametrize("fault", [*FAST, Fault.CUT_REQUEST, Fault.REFUSE_409, Fault.REFUSE_503])
def test_one_fault_never_costs_a_create(faulty: Faulty, fault: Fault) -> None:
    if fault is Fault.REFUSE_409 and not faulty.conflicts:
        return
    faulty.proxy.rule = once(fault)
    done = commit_object(
        faulty.store, KEY, body(b"data" * 9), IfAbsent(), POLICY, FakeTime().effects()
    )
    assert done.outcome is Outcome.WRITTEN
    assert done.counters["own_write_recovered"] == (fault in FAST)
    assert done.counters["conflict_409_retried"] == (fault is Fault.REFUSE_409)
    # After an early 409 the next request may still meet the connection that is being closed.
    assert done.counters["ambiguous"] >= (fault is not Fault.REFUSE_409)
    assert faulty.door.read(KEY) == b"data" * 9
    assert faulty.door.versions(KEY) == 1
    stored = faulty.store.head(KEY)
    assert done.info is not None
    assert (done.info.etag, done.info.version_id) == (stored.etag, stored.version_id)


@pytest.mark.parametrize("fault", FAST)
def test_one_fault_never_costs_a_change(faulty: Faulty, fault: Fault) -> None:
    info = create(faulty.store, b"first")
    faulty.proxy.rule = once(fault)
    changed = body(b"second", "run-1/change-1")
    done = commit_object(
        faulty.store, KEY, changed, IfMatch(info.etag), POLICY, FakeTime().effects()
    )
    assert done.outcome is Outcome.WRITTEN
    assert faulty.door.read(KEY) == b"second"
    assert faulty.door.versions(KEY) == 1 + faulty.harness.versioned


@pytest.mark.parametrize("fault", FAST)
def test_one_fault_at_the_completion_never_costs_a_composition(
    faulty: Faulty, fault: Fault
) -> None:
    segments, expected = large(faulty.harness)
    faulty.proxy.rule = once(fault, faulty.completes)
    done = faulty.commit_composed(segments)
    assert done.outcome is Outcome.WRITTEN
    assert done.counters["own_write_recovered"] == (not faulty.resumes)
    assert faulty.door.read(MOSAIC) == expected
    assert faulty.door.versions(MOSAIC) == 1
    assert faulty.door.open_uploads() == 0


@pytest.mark.parametrize("fault", [Fault.RESET, Fault.ANSWER_503, Fault.CUT_REQUEST])
def test_bytes_on_their_way_are_sent_again_and_the_completion_once(
    faulty: Faulty, fault: Fault
) -> None:
    segments, expected = large(faulty.harness)
    faulty.proxy.clear()
    faulty.proxy.rule = once(
        fault, lambda seen: faulty.carries(seen) and not faulty.completes(seen)
    )
    answer = faulty.store.compose(MOSAIC, segments, IfAbsent(), "image/tiff", METADATA)
    assert answer.answer is Answer.WRITTEN
    assert faulty.door.read(MOSAIC) == expected
    assert sum(map(faulty.completes, faulty.proxy.requests)) == 1


def test_a_store_with_a_client_is_not_pickled(faulty: Faulty) -> None:
    with pytest.raises(TypeError, match="open it again"):
        pickle.dumps(faulty.store)

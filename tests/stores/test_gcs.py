"""The suite against Cloud Storage's emulators, and what it says of those that pretend."""

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from scenemosaic.errors import InputError, PermanentStoreError, TransientStoreError
from scenemosaic.stores import open_store
from scenemosaic.stores.port import Answer, IfAbsent, IfMatch, Store
from tests import servers
from tests.stores import conformance
from tests.stores.cloud_doors import GcsDoor, gcs_bucket
from tests.stores.conformance import KEY, body, create, written
from tests.stores.doors import Harness
from tests.stores.gcs_front import GcsFront
from tests.stores.patient import Patient

PREFIX = "a prefix/ü+%"

Make = Callable[..., Harness]


@pytest.fixture
def make(monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    """``make(endpoint, upstream)``: an adapter with an empty root; the door is upstream's."""
    opened: list[Store] = []

    def harness(endpoint: str, upstream: str, *, versioned: bool = True, **more: object) -> Harness:
        bucket = gcs_bucket(upstream, versioned=versioned)
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", endpoint)
        store = open_store(f"gs://{bucket}/{PREFIX}")
        opened.append(store)
        door = GcsDoor(upstream, bucket, f"{PREFIX}/", **more)  # type: ignore[arg-type]
        return Harness(Patient(store), door, versioned=versioned)

    yield harness
    for store in opened:
        store.close()


@pytest.fixture
def front(fake_gcs: str) -> Iterator[GcsFront]:
    front = GcsFront(fake_gcs)
    with front.running():
        yield front


@pytest.fixture
def through_front(make: Make, front: GcsFront) -> Make:
    def harness(*, versioned: bool) -> Harness:
        sessions = front.open_sessions
        return make(front.url, front.upstream, versioned=versioned, sessions=sessions)

    return harness


def every_write_is_a_version(h: Harness) -> None:
    """What the suite asks of a store whose ETag may be a content hash, asked more strictly."""
    first = create(h.store, b"x")
    second = written(h.store.put(KEY, body(b"y"), IfMatch(first.etag)))
    third = written(h.store.put(KEY, body(b"x"), IfMatch(second.etag)))
    generations = [info.version_id for info in (first, second, third)]
    assert generations == [info.etag for info in (first, second, third)]
    assert len(set(generations)) == 3
    assert h.store.put(KEY, body(b"z"), IfMatch(first.etag)).answer is Answer.REFUSED


# A generation is there in any bucket; the suite wants a version ID only in a versioned one.
REPLACED = (conformance.declares_its_capabilities, conformance.tells_a_return_to_old_content)
CHECKS = (*conformance.CONDITIONS, *conformance.OTHERS, every_write_is_a_version)
SESSIONS = (
    conformance.refuses_to_compose_twice,
    conformance.composes_by_match,
    conformance.lets_one_of_many_compositions_win,
)
SINGLE = [check for check in CHECKS if check not in SESSIONS]
named = pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)


@named
def test_conforms_where_sessions_keep_their_condition(
    through_front: Make, check: conformance.Check
) -> None:
    check(through_front(versioned=True))


@pytest.mark.parametrize(
    "check",
    [check for check in CHECKS if check not in REPLACED],
    ids=lambda check: check.__name__,
)
def test_conforms_without_old_versions(through_front: Make, check: conformance.Check) -> None:
    check(through_front(versioned=False))


@pytest.mark.parametrize("check", SINGLE, ids=lambda check: check.__name__)
def test_conforms_on_the_bare_emulator(make: Make, fake_gcs: str, check: conformance.Check) -> None:
    check(make(fake_gcs, fake_gcs))


@pytest.mark.parametrize("check", SESSIONS, ids=lambda check: check.__name__)
def test_the_bare_emulators_sessions_are_caught(
    make: Make, fake_gcs: str, check: conformance.Check
) -> None:
    """fake-gcs-server lets the end of a session overwrite, whatever its condition."""
    with pytest.raises(AssertionError):
        check(make(fake_gcs, fake_gcs))


# This emulator resets connections where more than five wait.
FEW_AT_ONCE = [
    check for check in conformance.CONDITIONS if check is not conformance.lets_one_of_many_win
]


@pytest.mark.parametrize("check", FEW_AT_ONCE, ids=lambda check: check.__name__)
def test_an_emulator_that_ignores_conditions_is_caught(
    make: Make, gcp_storage_emulator: str, check: conformance.Check
) -> None:
    with pytest.raises(AssertionError):
        check(make(gcp_storage_emulator, gcp_storage_emulator, versioned=False))


def test_everybody_wins_where_conditions_are_ignored(make: Make, gcp_storage_emulator: str) -> None:
    h = make(gcp_storage_emulator, gcp_storage_emulator, versioned=False)
    barrier = Barrier(4)

    def race(worker: int) -> Answer:
        barrier.wait()
        return h.store.put(KEY, body(b"worker %d" % worker), IfAbsent()).answer

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(race, range(4))) == [Answer.WRITTEN] * 4


@pytest.mark.parametrize("etag", ["0", "", "-1", "01", "1.0", '"1"', "1" * 20, "١"])
def test_what_is_no_generation_matches_nothing(through_front: Make, etag: str) -> None:
    h = through_front(versioned=True)
    assert h.store.put(KEY, body(b"data"), IfMatch(etag)).answer is Answer.GONE
    assert h.door.keys() == []
    create(h.store, b"first")
    assert h.store.put(KEY, body(b"data"), IfMatch(etag)).answer is Answer.REFUSED
    assert h.door.read(KEY) == b"first"


def test_a_tile_of_any_size_is_one_request(through_front: Make, front: GcsFront) -> None:
    h = through_front(versioned=True)
    data = bytes(20 << 20)
    info = create(h.store, data)
    assert info.size_bytes == len(data)
    assert front.started == 0
    assert h.door.versions(KEY) == 1


def test_no_such_bucket_is_permanent(fake_gcs: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", fake_gcs)
    store = open_store("gs://no-such-bucket-here/p")
    with pytest.raises(PermanentStoreError, match=r"404.*make the bucket"):
        store.put(KEY, body(b"x"), IfAbsent())
    with pytest.raises(PermanentStoreError, match="make the bucket"):
        list(store.list(""))


def test_no_credentials_are_permanent() -> None:
    with pytest.raises(PermanentStoreError, match=r"no usable.*GOOGLE_APPLICATION_CREDENTIALS"):
        open_store("gs://some-bucket/p")


def test_unusable_credentials_are_permanent_and_not_quoted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = tmp_path / "key.json"
    key.write_text('{"type": "service_account", "private_key": "s3cr3t", "client_email": "a@b"}')
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(key))
    with pytest.raises(PermanentStoreError) as caught:
        open_store("gs://some-bucket/p")
    assert "s3cr3t" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_server_that_is_down_is_transient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", f"http://127.0.0.1:{servers.free_port()}")
    with pytest.raises(TransientStoreError, match=KEY):
        open_store("gs://some-bucket/p").head(KEY)


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("google.cloud.storage", "scenemosaic.stores.gcs_requests"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.delitem(sys.modules, "scenemosaic.stores.gcs", raising=False)
    monkeypatch.delattr("scenemosaic.stores.gcs", raising=False)
    with pytest.raises(InputError, match=r"pip install 'scenemosaic\[gcs\]'"):
        open_store("gs://some-bucket/p")

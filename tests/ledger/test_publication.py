"""What a publication leaves behind, what it refuses, and what comes of it when asked again."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pystac
import pytest

from scenemosaic import keys
from scenemosaic.errors import (
    ForeignObject,
    IncompleteError,
    InputError,
    LeaseCleared,
    LeaseHeld,
    LedgerLost,
    NotApproved,
    SlotsUsedUp,
    Superseded,
)
from scenemosaic.job import JobSpec, open_session
from scenemosaic.ledger.book import Book, Wanted, open_book
from scenemosaic.ledger.rules import Ended
from scenemosaic.ledger.state import Cleared
from scenemosaic.publishing import inspection, publication
from scenemosaic.publishing.inspection import inspect
from scenemosaic.publishing.publication import Publication, publish
from scenemosaic.session import Session
from scenemosaic.stores.port import Body, Condition, ObjectInfo, Store, WriteResult
from tests.faults.stores import Wrapper
from tests.jobs.places import Place, client
from tests.ledger.jobs import committed, finished

LEDGER = "daily"
DEAD = Cleared("op@host", "the machine is gone")


@pytest.fixture
def spec(place: Place, tmp_path: Path) -> JobSpec:
    return finished(place, tmp_path)


def by(run_id: str, spec: JobSpec, slots: int = 10) -> Wanted:
    return Wanted(run_id, spec.plan.job_id, slots, "Europe/Berlin", "op@host")


def go(spec: JobSpec, run_id: str, slots: int = 10) -> Publication:
    return publish(spec, LEDGER, by(run_id, spec, slots))


def book_of(spec: JobSpec) -> Book:
    return open_book(open_session(spec).store, LEDGER)


def document(spec: JobSpec, key: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(open_session(spec).store.get(key))
    return found


def test_latest_pins_what_stands_there(spec: JobSpec, place: Place) -> None:
    done = go(spec, "run-1")
    assert (done.conflict, done.already) == (None, False)
    store, job_id = open_session(spec).store, spec.plan.job_id
    stands = store.head(keys.mosaic_key(job_id))
    assert stands is not None
    latest = document(spec, keys.POINTER_KEY)
    version = {} if stands.version_id is None else {"version_id": stands.version_id}
    assert latest["mosaic"] == version | {
        "href": f"./{job_id}/mosaic.tif",
        "bytes": stands.size_bytes,
        "digest": stands.metadata["digest"],
        "etag": stands.etag,
    }
    assert (latest["job_id"], latest["revision"], latest["run_id"]) == (job_id, 0, "run-1")
    assert latest["item"]["href"] == f"./{job_id}/item.json"
    assert latest["ledger"] == {"name": LEDGER, "revision": 1}
    assert "op@host" not in json.dumps(latest), "who it was is nobody's business out there"
    (entry,) = book_of(spec).read().history
    assert (entry.reservation.operator, entry.end) == ("op@host", inspect(spec).pinned)
    wrote = {keys.POINTER_KEY, keys.CATALOG_KEY, keys.ledger_key(LEDGER)}
    versions = place.versions()
    assert wrote <= set(versions)
    if place.root.startswith("s3:"):
        assert [len(versions[key]) for key in sorted(wrote)] == [2, 1, 1]


def test_the_catalog_lists_what_was_published_the_latest_first(
    spec: JobSpec, place: Place, tmp_path: Path
) -> None:
    other = finished(place, tmp_path, seed=2)
    pins: dict[str, Any] = {}
    for number, one in enumerate((spec, other, spec)):
        assert go(one, f"run-{number}").conflict is None
        value = document(spec, keys.CATALOG_KEY)
        catalog = pystac.Catalog.from_dict(value)
        assert catalog.to_dict()["stac_version"] == "1.1.0"
        hrefs = [link["href"] for link in value["links"] if link["rel"] == "item"]
        assert hrefs[0] == f"./{one.plan.job_id}/item.json"
        assert len(hrefs) == len(set(hrefs)) == min(number + 1, 2)
        first, *others = (link for link in value["links"] if link["rel"] == "item")
        proof = inspect(one).pinned
        assert (first["scenemosaic:revision"], first["scenemosaic:etag"]) == (0, proof.etag)
        assert first["scenemosaic:digest"] == proof.digest
        assert first.get("scenemosaic:version_id") == proof.version_id
        assert all(link == pins[link["href"]] for link in others), "as they were published"
        pins[first["href"]] = first
    assert document(spec, keys.POINTER_KEY)["previous_job_id"] == other.plan.job_id


@pytest.fixture
def counting(spec: JobSpec, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Wrapper]:
    """From its call on, a store that counts what is asked of it, refused or not."""

    def begin() -> Wrapper:
        session = open_session(spec)
        counted = Wrapper(session.store)
        monkeypatch.setattr(publication, "open_session", lambda _: replace(session, store=counted))
        return counted

    return begin


def test_the_same_run_again_finds_it_done_and_changes_nothing(
    spec: JobSpec, place: Place, counting: Callable[[], Wrapper]
) -> None:
    first = go(spec, "run-1", slots=1)
    before, counted = place.versions(), counting()
    again = go(spec, "run-1", slots=1)
    assert (counted.writes, counted.heads) == (0, 3)
    assert (again.already, again.conflict, again.latest) == (True, None, first.latest)
    assert isinstance(again.answer, Ended)
    assert place.versions() == before


def test_the_same_run_again_after_another_does_not_turn_it_back(
    spec: JobSpec, place: Place, tmp_path: Path
) -> None:
    other = finished(place, tmp_path, seed=2)
    go(spec, "run-1")
    go(other, "run-2")
    before = place.versions()
    again = go(spec, "run-1")
    assert isinstance(again.conflict, Superseded)
    assert "run-2" in str(again.conflict)
    assert place.versions() == before
    # A run ID that published one job cannot publish another.
    assert isinstance(go(other, "run-1").conflict, Superseded)


@pytest.mark.parametrize("slots", [1, 2])
def test_another_run_of_what_is_the_latest_changes_nothing(
    spec: JobSpec, place: Place, tmp_path: Path, slots: int
) -> None:
    go(finished(place, tmp_path, seed=2), "run-0")
    first = go(spec, "run-1")
    before = place.versions()
    again = go(spec, "run-2", slots=slots)
    assert (again.already, again.conflict, again.latest) == (True, None, first.latest)
    assert place.versions() == before, "no slot is used, and previous_job_id stays"
    # Under another ledger it is a publication of its own.
    assert not publish(spec, "other", by("run-3", spec)).already


def test_what_was_not_listed_is_published_again(spec: JobSpec, place: Place) -> None:
    go(spec, "run-1")
    remove(place, keys.CATALOG_KEY)
    assert not go(spec, "run-2").already
    assert document(spec, keys.CATALOG_KEY)["links"][1]["href"].startswith("./")
    book_of(spec).reserve(by("run-3", spec))
    assert isinstance(go(spec, "run-4").conflict, LeaseHeld), "the holder may be changing it"
    assert not go(spec, "run-3").already, "a run that holds the ledger has to end"
    assert book_of(spec).read().active is None


def test_whoever_comes_too_late_today_learns_until_when(
    spec: JobSpec, place: Place, tmp_path: Path, counting: Callable[[], Wrapper]
) -> None:
    other = finished(place, tmp_path, seed=2)
    go(spec, "run-1", slots=1)
    before, counted = place.versions(), counting()
    late = go(other, "run-2", slots=1)
    assert (counted.writes, counted.heads) == (0, 3)
    assert isinstance(late.conflict, SlotsUsedUp)
    assert "1 of 1 slots" in str(late.conflict)
    assert "--slots" in str(late.conflict)
    assert "Europe/Berlin" in str(late.conflict)
    assert place.versions() == before


def test_a_job_that_is_not_finished_takes_no_slot(place: Place, tmp_path: Path) -> None:
    spec = committed(place, tmp_path)
    before = place.versions()
    with pytest.raises(IncompleteError, match=r"scenemosaic status"):
        go(spec, "run-1")
    assert place.versions() == before


def put(place: Place, key: str, data: bytes) -> None:
    """By hand: unconditional as a person's own tool, and without metadata of ours."""
    if place.root.startswith("file:"):
        path = local_path(place, key)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    else:
        client(place, "s3").put_object(**in_bucket(place, key), Body=data)


def remove(place: Place, key: str) -> None:
    """The same for taking away what stands there."""
    if place.root.startswith("file:"):
        local_path(place, key).unlink()
    else:
        client(place, "s3").delete_object(**in_bucket(place, key))


def local_path(place: Place, key: str) -> Path:
    return Path(urlsplit(place.root).path) / key


def in_bucket(place: Place, key: str) -> dict[str, str]:
    parts = urlsplit(place.root)
    return {"Bucket": parts.netloc, "Key": f"{parts.path.strip('/')}/{key}"}


@pytest.mark.parametrize("key", [keys.POINTER_KEY, keys.CATALOG_KEY])
def test_what_is_not_ours_is_found_before_the_ledger_is_held(
    spec: JobSpec, place: Place, key: str
) -> None:
    put(place, key, b'{"type": "Catalog", "id": "theirs"}')
    with pytest.raises(ForeignObject, match=key.rpartition("/")[2].partition(".")[0]):
        go(spec, "run-1")
    assert book_of(spec).read().revision == 0


def test_a_mosaic_that_its_row_does_not_describe_is_not_published(
    spec: JobSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = inspection.examine

    def other(spec: JobSpec) -> Any:
        found = real(spec)
        assert found.mosaic is not None
        return replace(found, mosaic=replace(found.mosaic, etag='"another"'))

    monkeypatch.setattr(inspection, "examine", other)
    with pytest.raises(ForeignObject, match="scenemosaic verify"):
        go(spec, "run-1")
    assert book_of(spec).read().revision == 0


def test_a_ledger_that_was_taken_away_is_no_fresh_start(spec: JobSpec, place: Place) -> None:
    go(spec, "run-1", slots=1)
    remove(place, keys.ledger_key(LEDGER))
    with pytest.raises(LedgerLost, match="restore its newest version"):
        go(spec, "run-2", slots=1)
    assert document(spec, keys.POINTER_KEY)["run_id"] == "run-1"


def test_what_was_approved_is_what_is_published(spec: JobSpec) -> None:
    approved = inspect(spec)
    stale = replace(approved, pinned=replace(approved.pinned, digest="0" * 64))
    with pytest.raises(NotApproved, match="ask again"):
        publish(spec, LEDGER, by("run-1", spec), stale)
    assert book_of(spec).read().revision == 0
    wanted = replace(by("run-1", spec), approved_by="Ada")
    assert publish(spec, LEDGER, wanted, approved).conflict is None
    assert book_of(spec).read().history[0].reservation.approved_by == "Ada"


def test_a_held_ledger_says_what_to_inspect(spec: JobSpec, place: Place) -> None:
    book_of(spec).reserve(by("run-1", spec))
    before = place.versions()
    found = go(spec, "run-2")
    assert isinstance(found.conflict, LeaseHeld)
    text = str(found.conflict)
    for part in (
        "run-1",
        "op@host",
        spec.plan.job_id,
        "mosaics/latest.json",
        "is not there yet",
        f"scenemosaic ledger show {LEDGER} --to {place.root}",
        f"scenemosaic ledger clear {LEDGER} --run-id run-1 --to {place.root} --reason",
    ):
        assert part in text
    assert place.versions() == before


class Acting(Wrapper):
    """Before the ``nth`` write or look at ``key``, somebody else acts."""

    def __init__(self, inner: Store, verb: str, key: str, nth: int, act: Callable[[], None]):
        super().__init__(inner)
        self._at, self._left, self._act = (verb, key), nth, act

    def _meet(self, verb: str, key: str) -> None:
        if (verb, key) == self._at:
            self._left -= 1
            if self._left == 0:
                self._act()

    def head(self, key: str) -> ObjectInfo | None:
        self._meet("head", key)
        return super().head(key)

    def put(self, key: str, body: Body, condition: Condition) -> WriteResult:
        self._meet("put", key)
        return super().put(key, body, condition)


@pytest.mark.parametrize(
    ("verb", "key", "nth"),
    [
        ("head", keys.POINTER_KEY, 2),  # reserved, and has not looked at latest.json again
        ("put", keys.POINTER_KEY, 1),  # has looked, and asked the ledger
        ("head", keys.CATALOG_KEY, 2),  # latest.json is written
        ("put", keys.CATALOG_KEY, 1),
        ("head", keys.ledger_key(LEDGER), 5),  # nothing is left but to finish
    ],
)
def test_a_cleared_holder_that_comes_back_writes_over_nothing(
    spec: JobSpec,
    place: Place,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    verb: str,
    key: str,
    nth: int,
) -> None:
    other, session = finished(place, tmp_path, seed=2), open_session(spec)
    acted: list[str] = []

    def meanwhile() -> None:
        with monkeypatch.context() as patch:
            patch.setattr(publication, "open_session", lambda spec: session)
            book_of(spec).clear("slow", DEAD)
            assert go(other, "quick").conflict is None
            acted.append("quick")

    def slow(spec: JobSpec) -> Session:
        return replace(session, store=Acting(session.store, verb, key, nth, meanwhile))

    slow_session = slow(spec)
    monkeypatch.setattr(publication, "open_session", lambda spec: slow_session)
    with pytest.raises(LeaseCleared, match="the machine is gone"):
        go(spec, "slow")
    assert acted == ["quick"]
    latest = document(spec, keys.POINTER_KEY)
    assert (latest["run_id"], latest["job_id"]) == ("quick", other.plan.job_id)
    links = [link["href"] for link in document(spec, keys.CATALOG_KEY)["links"]]
    assert f"./{other.plan.job_id}/item.json" in links
    state = book_of(spec).read()
    assert [entry.reservation.run_id for entry in state.history] == ["slow", "quick"]
    assert state.active is None


@pytest.mark.parametrize(("slots", "zone"), [(0, "UTC"), (101, "UTC"), (1, "Berlin")])
def test_a_rule_that_is_none(slots: int, zone: str) -> None:
    with pytest.raises(InputError):
        Wanted("run", "job", slots, zone)

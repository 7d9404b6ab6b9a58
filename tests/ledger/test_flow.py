"""The flows inside a test API: named states, one slot for a retried task, a person's word."""

import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import ArtifactFilter, ArtifactFilterKey, FlowRunFilter
from prefect.client.schemas.objects import State
from prefect.flow_runs import resume_flow_run

from flows import approval, watch_ledger
from flows import publish as publishing
from flows.publish import PUBLISHED_EVENT, publish
from scenemosaic.errors import NotApproved, TransientStoreError
from scenemosaic.job import JobSpec, open_session
from scenemosaic.ledger.book import Book, Wanted, open_book
from scenemosaic.publishing import latest
from scenemosaic.publishing.inspection import inspect
from scenemosaic.publishing.publication import Publication
from tests.jobs.places import MakePlace, Place
from tests.ledger.jobs import committed, finished

pytestmark = pytest.mark.usefixtures("harness")
LEDGER = "daily"
WAIT_S = 60


@pytest.fixture
def place(local_place: MakePlace) -> Place:
    return local_place()


@pytest.fixture
def spec(place: Place, tmp_path: Path) -> JobSpec:
    return finished(place, tmp_path)


@pytest.fixture
def events(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, dict[str, Any]]]:
    seen: list[tuple[str, dict[str, Any]]] = []
    for module in (publishing, watch_ledger):
        monkeypatch.setattr(module, "emit_event", lambda name, **more: seen.append((name, more)))
    return seen


def run(spec: JobSpec, **more: Any) -> "State[Publication]":
    given = {"ledger": LEDGER, "slots": 2} | more
    return publish(spec.plan.job_id, spec.root, spec.manifest, return_state=True, **given)


def found(state: "State[Publication]") -> Publication:
    value = state.result(raise_on_failure=False)
    assert isinstance(value, Publication)
    return value


def book(spec: JobSpec) -> Book:
    return open_book(open_session(spec).store, LEDGER)


def test_published_once_and_then_found(
    spec: JobSpec, events: list[tuple[str, dict[str, Any]]]
) -> None:
    first = run(spec)
    assert (first.name, first.is_completed()) == ("Published", True)
    run_id = str(first.state_details.flow_run_id)
    assert found(first).wanted.run_id == run_id
    again = run(spec, run_id=run_id)
    assert (again.name, again.is_completed()) == ("AlreadyPublished", True)
    ((name, event),) = events
    assert name == PUBLISHED_EVENT
    assert event["resource"]["prefect.resource.id"] == f"scenemosaic.job.{spec.plan.job_id}"
    latest = found(first).latest
    assert latest is not None
    assert event["payload"]["digest"] == latest.target.pinned.digest


def test_conflicts_are_completed_and_faults_are_failed(place: Place, tmp_path: Path) -> None:
    spec = finished(place, tmp_path)
    book(spec).reserve(Wanted("other", spec.plan.job_id))
    held = run(spec)
    assert (held.name, held.is_completed()) == ("LeaseHeld", True)
    assert "ledger clear" in str(held.message)
    book(spec).finish("other", inspect(spec).pinned)
    full = run(spec, slots=1)
    assert (full.name, full.is_completed()) == ("SlotsUsedUp", True)
    for more in ({"slots": 0}, {"time_zone": "Berlin"}, {"ledger": "No"}):
        bad = run(spec, **more)
        assert (bad.name, bad.is_failed()) == ("BadInput", True)
    gaps = run(committed(place, tmp_path, seed=2))
    assert (gaps.name, gaps.is_failed()) == ("Incomplete", True)
    assert len(book(spec).read().history) == 1


def test_a_retried_task_keeps_its_reservation(
    spec: JobSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    quick = publishing.publish_pointer.with_options(retry_delay_seconds=0, retry_jitter_factor=0)
    monkeypatch.setattr(publishing, "publish_pointer", quick)
    real, left = latest.catalog, [2]

    def flaky(*given: Any) -> bytes:
        left[0] -= 1
        if left[0] >= 0:
            raise TransientStoreError("connection reset")
        return real(*given)

    monkeypatch.setattr(latest, "catalog", flaky)
    state = run(spec, slots=1)
    assert state.name == "Published"
    assert left == [-1]
    (entry,) = book(spec).read().history
    assert entry.reservation.run_id == str(state.state_details.flow_run_id)


def test_a_run_leaves_its_table(spec: JobSpec) -> None:
    state = run(spec)
    key = f"publication-{spec.plan.job_id}"
    with get_client(sync_client=True) as client:
        artifacts = client.read_artifacts(
            artifact_filter=ArtifactFilter(key=ArtifactFilterKey(any_=[key]))
        )
    (mine,) = [one for one in artifacts if one.flow_run_id == state.state_details.flow_run_id]
    assert "published" in str(mine.data)


def test_nobody_is_asked_for_what_is_published_already(
    spec: JobSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(publishing, "ask", lambda *given: asked.append(given) or "Ada")
    first = run(spec, approve=True)
    assert (first.name, len(asked)) == ("Published", 1)
    assert found(first).wanted.approved_by == "Ada"
    run_id = str(first.state_details.flow_run_id)
    for more in ({}, {"run_id": run_id}):
        again = run(spec, approve=True, **more)
        assert (again.name, again.is_completed()) == ("AlreadyPublished", True)
    assert len(asked) == 1
    # What others hold may be free by the time that somebody answers.
    book(spec).reserve(Wanted("other", "ab" * 16, 2))
    assert run(spec, approve=True, run_id="mine").name == "LeaseHeld"
    assert len(asked) == 2


def paused_run() -> Any:
    """The run that waits for a person; a test has one at a time."""
    wanted = FlowRunFilter.model_validate({"state": {"name": {"any_": ["Paused"]}}})
    end = time.monotonic() + WAIT_S
    while True:
        with get_client(sync_client=True) as client:
            waiting = client.read_flow_runs(flow_run_filter=wanted)
        if waiting:
            return waiting[0]
        assert time.monotonic() < end, "no run is paused"
        time.sleep(0.1)


@pytest.fixture
def answered(spec: JobSpec, monkeypatch: pytest.MonkeyPatch) -> Callable[..., "State[Publication]"]:
    """Run with approval in a thread, and resume it with the given input once it is paused."""
    monkeypatch.setattr(approval, "POLL_S", 0.1)

    def go(**answer: Any) -> "State[Publication]":
        states: list[State[Publication]] = []
        thread = threading.Thread(target=lambda: states.append(run(spec, approve=True)))
        thread.start()
        waiting = paused_run()
        assert book(spec).read().revision == 0, "nobody is blocked while nobody answers"
        resume_flow_run(waiting.id, run_input=answer)
        thread.join(WAIT_S)
        return states[0]

    return go


def test_a_person_approves_and_is_kept(
    spec: JobSpec, answered: Callable[..., "State[Publication]"]
) -> None:
    state = answered(approved_by="Ada Lovelace")
    assert state.name == "Published"
    (entry,) = book(spec).read().history
    assert entry.reservation.approved_by == "Ada Lovelace"


def test_a_person_refuses(spec: JobSpec, answered: Callable[..., "State[Publication]"]) -> None:
    state = answered(approved_by="Ada", approve=False, comment="clouds")
    assert (state.name, state.is_completed()) == ("NotApproved", True)
    assert "Ada" in str(state.message)
    assert "clouds" in str(state.message)
    assert book(spec).read().revision == 0


def test_nobody_answers(spec: JobSpec, monkeypatch: pytest.MonkeyPatch) -> None:
    """Prefect may fail such a run by itself first; whoever started it is told the reason."""
    monkeypatch.setattr(approval, "POLL_S", 0.1)
    given = publishing.Given(spec)
    token = publishing.GIVEN.set(given)
    state = run(spec, approve=True, approve_within_s=1)
    publishing.GIVEN.reset(token)
    assert state.is_failed() or state.name == "NotApproved"
    (error,) = given.results
    assert isinstance(error, NotApproved)
    assert book(spec).read().revision == 0


def test_the_watch_tells_of_a_run_that_is_too_old(
    spec: JobSpec, events: list[tuple[str, dict[str, Any]]]
) -> None:
    def watch(max_age: str) -> Any:
        return watch_ledger.watch_ledger(
            spec.root, ledger=LEDGER, max_age=max_age, return_state=True
        )

    assert watch("0s").name == "BadInput", "a mistyped name is no free ledger"
    since = open_book(open_session(spec).store, LEDGER, now=past)
    since.reserve(Wanted("slow", spec.plan.job_id))
    assert watch("2h").name == "LedgerHeld"
    assert events == []
    assert watch("30m").name == "LedgerStale"
    assert watch("soon").name == "BadInput"
    since.finish("slow", inspect(spec).pinned)
    assert watch("0s").name == "LedgerFree"
    ((name, event),) = events
    assert name == watch_ledger.STALE_EVENT
    assert event["resource"]["prefect.resource.id"] == f"scenemosaic.ledger.{LEDGER}"
    assert event["payload"]["run_id"] == "slow"
    assert event["payload"]["age_s"] >= 3600


def past() -> datetime:
    return datetime.now(UTC) - timedelta(hours=1)

"""Three publishers at the same second, two slots, one already used: exactly one uploads."""

import json
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from scenemosaic import keys
from scenemosaic.auditing import audit
from scenemosaic.job import JobSpec, open_session
from scenemosaic.ledger.book import Wanted, open_book
from scenemosaic.ledger.state import Published
from tests.flows.serving import finish, fork_command, run_command
from tests.jobs.places import Place
from tests.ledger.jobs import finished
from tests.ledger.publishers import publishers
from tests.lengths import length

# A round in the bucket takes five times as long as one in a folder.
ROUNDS = {"file": length(40, 100), "s3": length(25, 100)}
CLI_ROUNDS = 3
REASONS = {"lease-held": "ledger clear", "slots-used-up": "2 of 2 slots"}


@pytest.fixture
def specs(place: Place, tmp_path: Path) -> list[JobSpec]:
    """Three jobs, so that it shows which one was published."""
    return [finished(place, tmp_path, seed) for seed in (1, 2, 3)]


def use_one_slot(spec: JobSpec, ledger: str) -> None:
    book = open_book(open_session(spec).store, ledger)
    book.reserve(Wanted("earlier", spec.plan.job_id, 2, "Europe/Berlin"))
    book.finish("earlier", Published(0, "d", "e"))


def uploads(spec: JobSpec, place: Place) -> int:
    """How many versions latest.json has; a local one has the last alone."""
    return len(place.versions().get(keys.POINTER_KEY, []))


def stands(spec: JobSpec, ledger: str, run_id: str, job_id: str) -> None:
    """The pointer and the ledger agree about the one winner."""
    store = open_session(spec).store
    latest = json.loads(store.get(keys.POINTER_KEY))
    assert (latest["run_id"], latest["job_id"]) == (run_id, job_id)
    state = open_book(store, ledger).read()
    assert state.active is None
    assert [entry.reservation.run_id for entry in state.history] == ["earlier", run_id]


def recorded_refusals(spec: JobSpec, ledger: str) -> int:
    found = audit.read(open_session(spec), keys.ledger_log(ledger))
    return sum(entry.record.event == "refused" for entry in found)


@pytest.mark.slow
def test_three_at_once_again_and_again(specs: list[JobSpec], place: Place) -> None:
    reasons: set[str] = set()
    scheme = urlsplit(place.root).scheme
    with publishers(place, 3) as running:
        for number in range(ROUNDS[scheme]):
            ledger = f"round-{number}"
            use_one_slot(specs[0], ledger)
            for index, (one, spec) in enumerate(zip(running, specs, strict=True)):
                one.ask(spec.plan.job_id, ledger, f"{ledger}-{index}", 2)
            answers = [one.answer() for one in running]
            assert sorted(answer["code"] for answer in answers) == [0, 4, 4], answers
            counted = sum(answer["counters"].get("refused", 0) for answer in answers)
            assert recorded_refusals(specs[0], ledger) == counted
            for answer in answers:
                if answer["code"]:
                    reasons.add(answer["outcome"])
                    assert REASONS[answer["outcome"]] in answer["error"]["message"]
                else:
                    assert answer["outcome"] == "published"
                    stands(specs[0], ledger, answer["run_id"], answer["job_id"])
    if scheme == "s3":
        assert uploads(specs[0], place) == ROUNDS[scheme]
    assert "lease-held" in reasons, "somebody must have met the holder at work"


@pytest.mark.slow
def test_three_commands_at_once(specs: list[JobSpec], place: Place, tmp_path: Path) -> None:
    for number in range(CLI_ROUNDS):
        ledger = f"round-{number}"
        use_one_slot(specs[0], ledger)
        given = ["--to", place.root, "--manifest", place.manifest, "--ledger", ledger]
        rule = ["--slots", "2", "--time-zone", "Europe/Berlin", "--json"]
        running = [
            fork_command(["publish", spec.plan.job_id, *given, *rule], tmp_path, place.env)
            for spec in specs
        ]
        answers = [finish(process) for process in running]
        assert sorted(answer.code for answer in answers) == [0, 4, 4], answers
        for answer in answers:
            value = answer.value()
            if answer.code:
                assert value["exit_code"] == 4
                assert REASONS[value["outcome"]] in value["error"]["message"]
                assert REASONS[value["outcome"]] in answer.err
            else:
                assert answer.err == ""
                stands(specs[0], ledger, value["run_id"], value["job_id"])


@pytest.mark.parametrize(
    ("when", "published"),
    [
        ({"die_after": 1}, False),  # reserved
        ({"die_before": 2}, False),
        ({"die_after": 2}, True),  # latest.json is written
        ({"die_after": 3}, True),  # the catalog is written
        ({"die_before": 4}, True),
    ],
)
def test_killed_between_reserve_and_finish_it_blocks_the_next(
    specs: list[JobSpec], place: Place, when: dict[str, int], published: bool
) -> None:
    ours, theirs, _ = (spec.plan.job_id for spec in specs)
    with publishers(place, 2) as (dying, next_one):
        dying.ask(ours, "daily", "dead", 5, **when)
        assert dying.answer() == {}
        assert dying.ended() == -9
        next_one.ask(theirs, "daily", "next", 5)
        blocked = next_one.answer()
        assert (blocked["code"], blocked["outcome"]) == (4, "lease-held")
        assert blocked["held_by"]["run_id"] == "dead"
        message = blocked["error"]["message"]
        assert "ledger show daily --to" in message
        assert "ledger clear daily --run-id dead --to" in message
        seen = "of this very run: it is published" if published else "is not there yet"
        assert seen in message
        # The same run again goes on where it died, and uses no further slot.
        next_one.ask(ours, "daily", "dead", 1)
        assert next_one.answer()["outcome"] == "published"
        stands_alone(specs[0], "dead")
        next_one.ask(theirs, "daily", "next", 2)
        assert next_one.answer()["outcome"] == "published"


def stands_alone(spec: JobSpec, run_id: str) -> None:
    store = open_session(spec).store
    state = open_book(store, "daily").read()
    assert [entry.reservation.run_id for entry in state.history] == [run_id]
    catalog = json.loads(store.get(keys.CATALOG_KEY))
    assert [link["rel"] for link in catalog["links"]] == ["root", "item"]


def test_killed_and_cleared_the_next_publishes_and_lists_both(
    specs: list[JobSpec], place: Place, tmp_path: Path
) -> None:
    ours, theirs, _ = (spec.plan.job_id for spec in specs)
    with publishers(place, 2) as (dying, next_one):
        dying.ask(ours, "daily", "dead", 5, die_after=2)
        assert dying.ended() == -9
        clear = ["ledger", "clear", "daily", "--to", place.root, "--run-id", "dead"]
        cleared = run_command([*clear, "--reason", "killed by the test"], tmp_path, place.env)
        assert cleared.code == 0, cleared.err
        next_one.ask(theirs, "daily", "next", 2)
        assert next_one.answer()["outcome"] == "published"
        # What was cleared stays so, also for the run itself.
        next_one.ask(ours, "daily", "dead", 5)
        assert next_one.answer()["outcome"] == "lease-cleared"
    catalog = json.loads(open_session(specs[0]).store.get(keys.CATALOG_KEY))
    hrefs = [link["href"] for link in catalog["links"][1:]]
    assert hrefs == [f"./{theirs}/item.json", f"./{ours}/item.json"]

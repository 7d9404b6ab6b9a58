"""``publish`` and ``ledger`` as people run them: exit codes, one JSON object, what is refused."""

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest

from flows.cli import run
from flows.verbs import publish as cli_publish
from scenemosaic import keys
from scenemosaic.job import JobSpec, open_session
from scenemosaic.ledger.book import Wanted, open_book
from scenemosaic.ledger.state import Cleared
from tests.cli.test_commands import imports_prefect, loaded
from tests.flows.serving import (
    Answer,
    api,
    finish,
    fork_command,
    request,
    run_command,
    start_command,
    start_prefect,
)
from tests.flows.test_deployment import prefect
from tests.jobs.places import MakePlace, Place
from tests.ledger.jobs import finished
from tests.recovery.runs import deploy, start

WAIT_S = 90


@pytest.fixture
def place(local_place: MakePlace) -> Place:
    return local_place()


@pytest.fixture
def spec(place: Place, tmp_path: Path) -> JobSpec:
    return finished(place, tmp_path)


def publish(spec: JobSpec, *more: str) -> list[str]:
    return ["publish", spec.plan.job_id, "--to", spec.root, "--ledger", "daily", *more]


def ledger(spec: JobSpec, verb: str, *more: str) -> list[str]:
    return ["ledger", verb, "daily", "--to", spec.root, *more]


def hold(spec: JobSpec, run_id: str) -> None:
    open_book(open_session(spec).store, "daily").reserve(Wanted(run_id, spec.plan.job_id))


def stored(spec: JobSpec) -> Any:
    return json.loads(open_session(spec).store.get(keys.ledger_key("daily")))


def test_publish_show_and_publish_again(spec: JobSpec, place: Place, tmp_path: Path) -> None:
    first = run_command(publish(spec, "--run-id", "monday", "--json"), tmp_path)
    assert (first.code, first.err) == (0, "")
    value = first.value()
    assert set(value) == {
        "job_id", "run_id", "ledger", "outcome", "latest", "approved_by", "counters", "storm",
    }  # fmt: skip
    assert (value["outcome"], value["run_id"], value["storm"]) == ("published", "monday", False)
    assert value["latest"]["revision"] == 0

    again = run_command(publish(spec, "--run-id", "monday"), tmp_path)
    assert again.code == 0
    assert "already-published" in again.out

    before = stored(spec)
    same = run_command(publish(spec, "--json"), tmp_path)
    assert (same.code, same.value()["outcome"]) == (0, "already-published")
    assert stored(spec) == before, "nothing is new, and no slot is used"

    other = finished(place, tmp_path, seed=2)
    full = run_command(publish(other, "--json"), tmp_path)
    assert (full.code, full.value()["outcome"]) == (4, "slots-used-up")
    assert "--slots" in full.err
    assert full.value()["error"]["kind"] == "slots-used-up"
    assert full.value()["slots"]["used"] == full.value()["slots"]["slots"] == 1
    assert len(full.err.splitlines()) == 1

    shown = run_command(ledger(spec, "show", "--manifest", spec.manifest, "--json"), tmp_path)
    assert (shown.code, shown.err) == (0, "")
    state = shown.value()
    assert (state["active"], state["used"], state["slots"], state["stale"]) == (None, 1, 1, False)
    assert state["latest"]["run_id"] == "monday"
    (entry,) = state["history"]
    assert entry["published"]["digest"] == value["latest"]["digest"]
    text = run_command(ledger(spec, "show"), tmp_path)
    assert "1 of 1 slots used" in text.out
    assert "nobody" in text.out


def test_a_held_ledger_is_exit_4_and_names_the_holder(spec: JobSpec, tmp_path: Path) -> None:
    hold(spec, "dead")
    answer = run_command(publish(spec, "--json"), tmp_path)
    value = answer.value()
    assert (answer.code, value["exit_code"], value["outcome"]) == (4, 4, "lease-held")
    assert value["held_by"]["run_id"] == "dead"
    (line,) = answer.err.splitlines()
    # What it says to run is what clears it.
    commands = re.findall(r"`scenemosaic ([^`]*)`", line)
    assert [run_command(commands[0].split(), tmp_path).code] == [0]
    given = commands[1].replace("TEXT", "killed").split()
    assert run_command(given, tmp_path).code == 0
    assert run_command(publish(spec, "--slots", "2"), tmp_path).code == 0


def test_max_age(spec: JobSpec, tmp_path: Path) -> None:
    nobody = run_command(ledger(spec, "show", "--max-age", "0s"), tmp_path)
    assert (nobody.code, nobody.out) == (2, "")
    assert "no such ledger" in nobody.err
    assert "there is none here" in nobody.err
    hold(spec, "slow")
    wrong = run_command(["ledger", "show", "dayly", "--to", spec.root], tmp_path)
    assert (wrong.code, "there is daily" in wrong.err) == (2, True)
    gone = run_command(["ledger", "show", "daily", "--to", str(tmp_path / "gone")], tmp_path)
    assert (gone.code, "there is no folder" in gone.err) == (2, True)
    assert not (tmp_path / "gone").exists()
    fresh = run_command(ledger(spec, "show", "--max-age", "2h", "--json"), tmp_path)
    assert (fresh.code, fresh.value()["stale"]) == (0, False)
    while fresh.value()["active"]["age_s"] < 1:
        fresh = run_command(ledger(spec, "show", "--json"), tmp_path)
    old = run_command(ledger(spec, "show", "--max-age", "0s", "--json"), tmp_path)
    assert (old.code, old.value()["stale"]) == (4, True)
    assert old.value()["active"]["run_id"] == "slow"
    assert "run slow holds the ledger 'daily'" in old.err
    assert run_command(ledger(spec, "show", "--max-age", "soon"), tmp_path).code == 2


def test_clear_demands_the_very_run_and_a_reason(spec: JobSpec, tmp_path: Path) -> None:
    hold(spec, "dead")
    before = stored(spec)

    def clear(*more: str) -> Answer:
        return run_command(ledger(spec, "clear", *more), tmp_path)

    for wrong in ("DEAD", "dead ", "dea", "other", ""):
        answer = clear("--run-id", wrong, "--reason", "gone")
        assert answer.code == 4, answer
        assert "run dead holds it" in answer.err
    assert clear("--run-id", "dead").code == 2
    assert clear("--reason", "gone").code == 2
    assert clear("--run-id", "dead", "--reason", "  ").code == 2
    assert clear("--run-id", "dead", "--reason", "two\nlines").code == 2
    assert stored(spec) == before

    done = clear("--run-id", "dead", "--reason", "host lost, see ticket 7", "--json")
    assert done.code == 0
    assert done.value()["cleared"]["cleared"]["reason"] == "host lost, see ticket 7"
    state = stored(spec)
    assert state["active"] is None
    (entry,) = state["history"]
    assert (entry["run_id"], entry["cleared"]["reason"]) == ("dead", "host lost, see ticket 7")
    assert "@" in entry["cleared"]["by"]
    # A second time finds it done, and keeps the first reason.
    again = clear("--run-id", "dead", "--reason", "another")
    assert (again.code, stored(spec)) == (0, state)
    assert "ticket 7" in again.out


def test_clear_of_a_run_that_ended_by_itself(spec: JobSpec, tmp_path: Path) -> None:
    assert run_command(publish(spec, "--run-id", "done"), tmp_path).code == 0
    before = stored(spec)
    answer = run_command(
        ledger(spec, "clear", "--run-id", "done", "--reason", "mistaken"), tmp_path
    )
    assert answer.code == 4
    assert "ended by itself; nobody holds it" in answer.err
    assert stored(spec) == before


def test_bad_input(spec: JobSpec, tmp_path: Path) -> None:
    for more in (
        ["--slots", "0"],
        ["--slots", "101"],
        ["--time-zone", "Berlin"],
        ["--ledger", "A/B"],
        ["--run-id", "two words"],
        ["--run-id", "ümlaut"],
    ):
        answer = run_command(publish(spec, *more, "--json"), tmp_path)
        assert (answer.code, answer.value()["error"]["kind"]) == (2, "input"), more
    root = spec.root
    for given in (
        ["publish", "nonsense", "--to", root],
        ["publish", "0" * 32, "--to", root],
        ["ledger", "show", "A", "--to", root],
        ["ledger", "show", "daily", "--to", root, "--time-zone", "Nowhere/None"],
    ):
        assert run_command(given, tmp_path).code == 2, given


@pytest.mark.parametrize("recorded", [None, "http://127.0.0.1:9/api"])
@pytest.mark.parametrize("name", ["../x", "", "a/b", "ü", ".hidden", "a" * 300, "daily\n"])
def test_a_ledger_that_is_none_reads_alike_wherever_it_is_named(
    spec: JobSpec,
    name: str,
    recorded: str | None,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(cli_publish, "configured_api", lambda: recorded)
    assert run(["ledger", "show", name, "--to", spec.root]) == 2
    shown = capsys.readouterr().err
    assert "a ledger's name is 1 to 64" in shown
    assert run(["publish", spec.plan.job_id, "--to", spec.root, "--ledger", name]) == 2
    assert capsys.readouterr().err == shown


def test_what_the_flow_would_refuse_the_command_says_before_there_is_a_run(
    spec: JobSpec, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cli_publish, "configured_api", lambda: "http://127.0.0.1:9/api")
    monkeypatch.setattr(cli_publish, "public_manifest", lambda url: url + "?" + "x" * 2000)
    assert run(["publish", spec.plan.job_id, "--to", spec.root]) == 2
    assert "--manifest: String should have at most 2000 characters" in capsys.readouterr().err


def test_approval_needs_a_server_that_stays(spec: JobSpec, tmp_path: Path) -> None:
    answer = run_command(publish(spec, "--approve"), tmp_path)
    assert answer.code == 2
    assert "PREFECT_API_URL" in answer.err
    assert not open_session(spec).store.head(keys.ledger_key("daily"))


def test_they_do_without_prefect(spec: JobSpec, tmp_path: Path) -> None:
    for arguments in (
        publish(spec, "--slots", "5"),
        ledger(spec, "show"),
        ledger(spec, "clear", "--run-id", "x", "--reason", "y"),
    ):
        assert not imports_prefect(arguments, tmp_path)
    heavy = ("prefect", "rasterio", "numpy", "boto3", "sqlalchemy")
    assert loaded(["publish", "--help"], tmp_path, heavy) == []
    assert loaded(["ledger", "clear", "--help"], tmp_path, heavy) == []


def waiting_run(url: str, job_id: str, state: str = "Paused") -> str:
    """The ID of the run that waits for a person before it publishes the job."""
    end = time.monotonic() + WAIT_S
    paused = {"flow_runs": {"state": {"name": {"any_": [state]}}}}
    while True:
        found = api(url, "flow_runs/filter", paused)
        mine = [run for run in found if run["parameters"].get("job_id") == job_id]
        if mine:
            return str(mine[0]["id"])
        assert time.monotonic() < end, "the run is not paused"
        time.sleep(0.5)


def resume(url: str, run_id: str, **answer: object) -> None:
    """Let a paused run go on; where the answer to an earlier try was lost, it already does."""
    said = request(url, f"flow_runs/{run_id}/resume", {"run_input": answer})
    assert said["status"] in ("ACCEPT", "REJECT"), said


@pytest.mark.slow
def test_a_command_waits_for_a_person(
    spec: JobSpec, place: Place, tmp_path: Path, prefect_server: str
) -> None:
    extra = {"PREFECT_API_URL": prefect_server}
    process = fork_command(publish(spec, "--approve", "--json"), tmp_path, extra)
    run_id = waiting_run(prefect_server, spec.plan.job_id)
    assert not open_session(spec).store.head(keys.ledger_key("daily"))
    resume(prefect_server, run_id, approved_by="Ada Lovelace")
    answer = finish(process)
    assert answer.code == 0, answer.err
    value = answer.value()
    assert (value["outcome"], value["approved_by"]) == ("published", "Ada Lovelace")
    assert value["run_id"] == run_id
    assert stored(spec)["history"][0]["approved_by"] == "Ada Lovelace"
    # A run that the server knows is recorded, also where it ends in a conflict.
    again = run_command(publish(spec, "--json"), tmp_path, extra)
    assert (again.code, again.value()["outcome"]) == (0, "already-published")
    other = finished(place, tmp_path, seed=2)
    full = run_command(publish(other, "--json"), tmp_path, extra)
    assert (full.code, full.value()["outcome"]) == (4, "slots-used-up")
    states = {
        run["state_name"]
        for run in api(prefect_server, "flow_runs/filter", {})
        if run["parameters"].get("job_id") in (spec.plan.job_id, other.plan.job_id)
    }
    assert states == {"Published", "AlreadyPublished", "SlotsUsedUp"}


@pytest.mark.slow
def test_a_command_that_waits_says_that_its_server_is_gone(spec: JobSpec, tmp_path: Path) -> None:
    server = start_prefect(tmp_path / "prefect")
    try:
        # By Prefect's own 5 it outlives a server that is started again within minutes.
        extra = {"PREFECT_API_URL": f"{server.url}/api", "PREFECT_CLIENT_MAX_RETRIES": "1"}
        process = start_command(publish(spec, "--approve", "--json"), tmp_path, extra)
        waiting_run(extra["PREFECT_API_URL"], spec.plan.job_id)
    finally:
        server.stop()
    answer = finish(process)
    assert answer.code == 5, answer.err
    assert "Prefect's API went away" in answer.err
    assert "nothing was published" in answer.value()["error"]["message"]
    assert not open_session(spec).store.head(keys.ledger_key("daily"))


@pytest.mark.slow
def test_a_deployment_is_suspended_and_begins_again(
    spec: JobSpec, tmp_path: Path, prefect_server: str
) -> None:
    """Its process ends while it waits; another one publishes, under the same run ID."""
    pool = "approvals"
    deploy(prefect_server, pool, "publish/approved", "flows/publish.py:publish")
    try:
        given = {"job_id": spec.plan.job_id, "to": spec.root, "ledger": "daily", "approve": True}
        start(prefect_server, "publish/approved", given)
        worker = ["worker", "start", "--pool", pool, "--run-once"]
        prefect(prefect_server, tmp_path, *worker)
        run_id = waiting_run(prefect_server, spec.plan.job_id, "Suspended")
        assert not open_session(spec).store.head(keys.ledger_key("daily"))
        resume(prefect_server, run_id, approved_by="Grace Hopper")
        prefect(prefect_server, tmp_path, *worker)
        (entry_of_run,) = stored(spec)["history"]
        assert (entry_of_run["run_id"], entry_of_run["approved_by"]) == (run_id, "Grace Hopper")
    finally:
        forget_deployments(prefect_server, pool)


def forget_deployments(url: str, pool: str) -> None:
    """Other tests count the server's deployments."""
    for found in api(url, "deployments/filter", {}):
        if found["work_pool_name"] == pool:
            request(url, f"deployments/{found['id']}", method="DELETE")


def test_two_operators_clear_at_once(spec: JobSpec, tmp_path: Path) -> None:
    hold(spec, "dead")
    book = open_book(open_session(spec).store, "daily")
    given = ledger(spec, "clear", "--run-id", "dead", "--reason", "mine", "--json")
    running = [fork_command(given, tmp_path) for _ in range(2)]
    answers = [finish(process) for process in running]
    assert [answer.code for answer in answers] == [0, 0]
    (entry,) = book.read().history
    assert isinstance(entry.end, Cleared)
    assert answers[0].value()["cleared"] == answers[1].value()["cleared"]

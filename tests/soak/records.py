"""What Prefect's server says of a soak's runs, and what of it must not be so."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from tests.flows.serving import api, request
from tests.recovery.runs import FINAL

# What an engine, a store or a database calls a refusal.
_REFUSAL = re.compile(
    r"precondition|PreconditionFailed|\b412\b|ConditionalCheckFailed|already.present"
    r"|UNIQUE constraint|Superseded|TargetGone|Diverged|ForeignObject|ClaimLost|LeaseHeld",
    re.IGNORECASE,
)
_FAILED = ("FAILED", "CRASHED")


def flow_runs(url: str) -> list[dict[str, Any]]:
    """All flow runs, oldest first, each with the name of its flow under ``flow``."""
    flows = {one["id"]: one["name"] for one in api(url, "flows/filter", {})}
    found = api(url, "flow_runs/filter", {"sort": "EXPECTED_START_TIME_ASC"})
    return [{**run, "flow": flows.get(run["flow_id"], "?")} for run in found]


def task_runs(url: str) -> list[dict[str, Any]]:
    return api(url, "task_runs/filter", {"sort": "EXPECTED_START_TIME_ASC"})


def is_open(run: Mapping[str, Any]) -> bool:
    """Whether it is still to come, or going on, as far as the server knows."""
    return run["state_type"] not in FINAL


def close(url: str, run_id: str) -> None:
    """What an operator does with a run whose process is gone, and of which nobody told."""
    state = {"type": "CRASHED", "name": "Crashed", "message": "closed by hand: its process is gone"}
    request(url, f"flow_runs/{run_id}/set_state", {"state": state, "force": True})


def is_forgotten(run: Mapping[str, Any], server_deaths: Iterable[datetime]) -> bool:
    """Whether the server itself died after the run's last sign of life.

    It keeps in memory what its automations have not looked at yet, and forgets that.
    """
    last = datetime.fromisoformat(run["state"]["timestamp"])
    return any(death > last for death in server_deaths)


def outcomes(runs: Iterable[Mapping[str, Any]]) -> Counter[tuple[str, str]]:
    """How many runs of each flow came to each state."""
    return Counter((run["flow"], run["state_name"]) for run in runs)


def failed_for_a_refusal(
    flows: Iterable[Mapping[str, Any]], tasks: Iterable[Mapping[str, Any]]
) -> list[str]:
    """Runs that failed, or were tried again, and name a refused write as their reason."""
    found = []
    for kind, run in [("flow", run) for run in flows] + [("task", run) for run in tasks]:
        message = (run["state"] or {}).get("message") or ""
        if run["state_type"] in _FAILED and _REFUSAL.search(message):
            found.append(f"failed: {kind} run {run['name']} ({run['state_name']}): {message:.300}")
    return found


def retried(tasks: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Task runs that were tried more than once."""
    return [dict(run) for run in tasks if run["run_count"] > 1]


def tried_for_a_refusal(url: str, tasks: Iterable[Mapping[str, Any]]) -> list[str]:
    """Of the retried ones, those of which any state names a refused write."""
    found = []
    for run in retried(tasks):
        states = request(url, f"task_run_states/?task_run_id={run['id']}")
        messages = [state["message"] or "" for state in states]
        found += [
            f"tried again: task run {run['name']}: {message:.300}"
            for message in messages
            if _REFUSAL.search(message)
        ]
    return found

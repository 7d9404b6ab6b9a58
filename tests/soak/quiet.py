"""After the last kill: all comes back and ends, and is run again until nothing is left to do."""

import time
from typing import Any

from flows.server.alive import PENDING
from scenemosaic.places import place_at
from scenemosaic.verification.verify import verify_job
from tests.flows.serving import finish, start_command
from tests.recovery.gate import until
from tests.recovery.runs import read
from tests.soak import records
from tests.soak.evidence import Wanted
from tests.soak.schedule import Verb
from tests.soak.soak import Ground, Soak
from tests.soak.world import SILENCE_S

# Generous: on a busy machine, and a run that found no server waits for it for 15 minutes.
END_S = 1500.0
# By then every automation has seen every silence that it will ever see.
SETTLED_S = (PENDING + 2.0) * SILENCE_S
MOST_ROUNDS = 6
# Nothing runs a scene alone any more, and backfills look at what is missing.
PLAIN = 0.5


def come_to_rest(soak: Soak) -> list[str]:
    """Bring all back, and wait until no run is open; names those that stay so."""
    soak.world.returning.all_back()
    soak.say("quiet: nothing is killed from here on")
    begun = time.monotonic()
    while left := [run for run in soak.runs() if records.is_open(run)]:
        soak.attend()
        waited_s = time.monotonic() - begun
        if waited_s > END_S:
            break
        if waited_s > SETTLED_S:
            _close_forgotten(soak, left)
        time.sleep(3)
    return [f"left running: {run['flow']} {run['name']}, {run['state_name']}" for run in left]


def _close_forgotten(soak: Soak, left: list[dict[str, Any]]) -> None:
    """Close what no process carries out and no automation will, since the server forgot it."""
    living = {one.run_id for one in soak.world.flows()}
    for run in left:
        is_dead = run["id"] not in living and (run["deployment_id"] or not living)
        if is_dead and records.is_forgotten(run, soak.world.server_deaths):
            records.close(soak.world.api, run["id"])
            soak.closed += 1
            soak.say(f"closed by hand: {run['flow']} {run['name']}, {run['state_name']}")


def converge(soak: Soak) -> list[str]:
    """All commands again until none has anything to do; the places that do not come to that."""
    return [
        f"does not converge: {ground.place.name}"
        for ground in soak.grounds
        if not any(_round(soak, ground) for _ in range(MOST_ROUNDS))
    ]


def _round(soak: Soak, ground: Ground) -> bool:
    """Whether there was nothing to do: each may leave something for the others."""
    done = [once(soak, ground) for once in (_backfill, _repair, _ingest)]
    return all(done)


def _repair(soak: Soak, ground: Ground) -> bool:
    """Whether verification finds nothing at any job; what it finds is repaired."""
    wrong = [one for one in ground.jobs if _is_wrong(ground, one)]
    for one in wrong:
        run = _run(soak, Verb.REPAIR, ground, one)
        soak.say(f"repair {one.scene}: {run['state_name']}, {run['state']['message']:.200}")
    return not wrong


def _is_wrong(ground: Ground, one: Wanted) -> bool:
    place = place_at(ground.place.root, ground.place.manifest)
    return bool(verify_job(one.job_id, place).findings)


def _backfill(soak: Soak, ground: Ground) -> bool:
    run = _run(soak, Verb.BACKFILL, ground)
    soak.say(f"backfill {ground.place.name}: {run['state_name']}, {run['state']['message']:.200}")
    return bool(run["state_name"] == "AlreadyMosaicked")


def _ingest(soak: Soak, ground: Ground) -> bool:
    run = _run(soak, Verb.INGEST, ground)
    soak.say(f"ingest {ground.place.name}: {run['state_name']}, {run['state']['message']:.200}")
    return bool(run["state_name"] == "NothingNew")


def _run(soak: Soak, verb: Verb, ground: Ground, job: Any = None) -> dict[str, Any]:
    soak.done[verb] += 1
    run_id = soak.ask_for(verb, ground, PLAIN, job)
    return until(
        lambda: f"the end of {verb.value}: {read(soak.world.api, run_id)['state']}",
        lambda: None if records.is_open(run := read(soak.world.api, run_id)) else run,
        END_S,
    )


def once_more(soak: Soak, ground: Ground) -> None:
    """A backfill of all, which has nothing to do."""
    _run(soak, Verb.BACKFILL, ground)


def collect(soak: Soak, ground: Ground) -> int:
    """How many hidden files of dead writers ``gc`` took away."""
    command = ["gc", ground.place.root, "--older-than", "1s", "--abort", "--json"]
    ended: int = finish(start_command(command, soak.world.folder)).value()["ended"]
    return ended

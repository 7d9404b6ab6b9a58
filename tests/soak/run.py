"""A whole soak in a folder: servers, kills, quiet, and the verdict."""

import os
import time
import uuid
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests import surroundings
from tests.soak import processes, quiet, records
from tests.soak.bucket import make_bucket
from tests.soak.evidence import Stands
from tests.soak.folder import make_folder
from tests.soak.invariants import replaced, violations
from tests.soak.looking import look
from tests.soak.report import table
from tests.soak.schedule import schedule
from tests.soak.soak import Ground, Soak
from tests.soak.world import World, world


@dataclass(frozen=True)
class Result:
    """What was found wrong, and the table that says what was done."""

    violations: list[str]
    table: str


def run(minutes: float, seed: int, folder: Path) -> Result:
    """Soak for so many minutes, come to rest, and look at everything."""
    mark = uuid.uuid4().hex
    with surroundings.entered(folder):
        os.environ[processes.MARK] = mark
        with world(folder, mark) as made:
            os.environ["AWS_ENDPOINT_URL"] = made.store.url
            result = _soak(made, minutes, seed)
        left = [f"left open: process {one.pid}" for one in processes.marked(mark)]
    return Result([*result.violations, *left], "\n".join([result.table, *left]))


def _soak(made: World, minutes: float, seed: int) -> Result:
    bucket, local = make_bucket(made.store.url), make_folder(made.folder / "local")
    grounds = [Ground(bucket, bucket.bring), Ground(local, local.bring)]
    soak = Soak(made, seed, grounds)
    begun = time.monotonic()
    soak.say(f"{minutes:g} minutes, seed {seed}, in {made.folder}")
    soak.carry_out(schedule(seed, minutes * 60, [one.place.name for one in grounds]))
    found = quiet.come_to_rest(soak)
    flows, tasks = soak.runs(), records.task_runs(made.api)
    found += records.failed_for_a_refusal(flows, tasks)
    found += records.tried_for_a_refusal(made.api, tasks)
    found += quiet.converge(soak)
    # What is hidden below a folder costs nothing; in a bucket there is nothing to collect.
    hidden = quiet.collect(soak, grounds[1])
    stands = {one.place.name: look(one.place, one.jobs) for one in grounds}
    for one in grounds:
        lines = violations(stands[one.place.name], one.jobs)
        found += [f"{one.place.name}: {line}" for line in lines]
    found += _idle(soak, stands)
    counts = {**_counts(soak, stands, tasks), "hidden files that gc ended": hidden}
    seconds = time.monotonic() - begun
    return Result(found, table(soak, records.outcomes(soak.runs()), counts, found, seconds))


def _idle(soak: Soak, before: Mapping[str, Stands]) -> list[str]:
    """A finished place is not touched by one more backfill."""
    found = []
    for ground in soak.grounds:
        quiet.once_more(soak, ground)
        after = look(ground.place, ground.jobs)
        if _contract(after) != _contract(before[ground.place.name]):
            found.append(f"{ground.place.name}: a backfill of finished scenes wrote something")
    return found


def _contract(stands: Stands) -> tuple[object, ...]:
    history = {key: list(one) for key, one in stands.history.items() if key[:6] != "audit/"}
    return history, sorted(stands.rows, key=repr)


def _counts(
    soak: Soak, stands: Mapping[str, Stands], tasks: list[dict[str, object]]
) -> Mapping[str, int]:
    counts: Counter[str] = Counter()
    for ground in soak.grounds:
        seen = stands[ground.place.name]
        counts["scenes"] += len(ground.jobs)
        counts["windows"] += sum(len(job.windows) for job in ground.jobs)
        counts["keys looked at"] += len(seen.history)
        counts["rows looked at"] += len(seen.rows)
        counts["tiles replaced (bucket)"] += replaced(seen)
        counts["repairs recorded beforehand"] += sum(seen.replacing.values())
        counts["writes refused (audit log)"] += sum(seen.refused.values())
    counts["task runs"] = len(tasks)
    counts["task runs tried again"] = len(records.retried(tasks))
    counts["workers that gave up"] = soak.world.gave_up
    counts["runs that a dead server forgot, closed by hand"] = soak.closed
    counts["most memory, MiB"] = soak.most_bytes >> 20
    return counts

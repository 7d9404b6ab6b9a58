"""A soak: the schedule carried out, one event after the other, and counted."""

import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.recovery.runs import start
from tests.soak import actors, records
from tests.soak.damage import Place, damage, published
from tests.soak.evidence import Wanted
from tests.soak.scenes import make_scene, wanted
from tests.soak.schedule import DECK, Event, Verb
from tests.soak.world import World

LOOK_S = 0.2
LATE_S = 15.0
# Nobody waits longer for a run that may be dead: it may be started again at once.
AGAIN_S = 75.0
SAY_EVERY_S = 30.0
TEND_EVERY_S = 15.0


@dataclass
class Ground:
    """A place, what came there, and what of it was damaged and not repaired since."""

    place: Place
    bring: Callable[[Path], None]
    jobs: list[Wanted] = field(default_factory=list)
    damaged: list[Wanted] = field(default_factory=list)
    attempt: int = 0


@dataclass
class Soak:
    """``done`` counts what was done, by verb; ``skipped`` what had to be left out."""

    world: World
    seed: int
    grounds: Sequence[Ground]
    done: Counter[Verb] = field(default_factory=Counter)
    skipped: Counter[Verb] = field(default_factory=Counter)
    closed: int = 0
    most_bytes: int = 0
    _begun: float = field(default_factory=time.monotonic)
    _last: dict[tuple[Verb, str], tuple[str, float]] = field(default_factory=dict)
    _said: float = 0.0
    _tended: float = 0.0

    def say(self, text: str) -> None:
        print(f"{time.monotonic() - self._begun:6.0f} s  {text}", file=sys.stderr, flush=True)

    def carry_out(self, events: Sequence[Event]) -> None:
        """All events, each at its time or as soon after it as those before it are done.

        Kills that come too late are left out: else what took long to come back dies at once.
        """
        for event in events:
            while (late_s := time.monotonic() - self._begun - event.at_s) < 0:
                self.attend()
                time.sleep(LOOK_S)
            in_time = late_s < LATE_S or event.verb not in DECK
            done = in_time and self._do(event)
            (self.done if done else self.skipped)[event.verb] += 1

    def attend(self) -> None:
        """Bring back what is due, and say how things stand."""
        now = time.monotonic()
        self.world.tend()
        if now - self._tended > TEND_EVERY_S and self.world.answers:
            self._tended = now
            self.most_bytes = max(self.most_bytes, self.world.used_bytes())
        if now - self._said > SAY_EVERY_S:
            self._said = now
            runs, kills = self._sums()
            self.say(f"{runs} runs started, {kills} killed, {len(self.world.flows())} at work")

    def runs(self) -> list[dict[str, object]]:
        return records.flow_runs(self.world.api)

    def ask_for(self, verb: Verb, ground: Ground, chance: float, job: Wanted | None = None) -> str:
        """Start a flow as a schedule or a person does; the run's ID."""
        if verb is Verb.INGEST:
            parameters = actors.ingest(ground.place, chance)
        elif verb is Verb.BACKFILL:
            ground.attempt += 1
            parameters = actors.backfill(ground.place, chance, ground.attempt)
        else:
            assert job is not None
            parameters = actors.repair(ground.place, job)
        return start(self.world.api, actors.DEPLOYMENTS[verb], parameters)

    def _do(self, event: Event) -> bool:
        """Whether it could be done."""
        if event.verb in DECK:
            return self._kill(event)
        ground = next(one for one in self.grounds if one.place.name == event.place)
        if event.verb is Verb.ARRIVE:
            return self._arrive(ground)
        if event.verb is Verb.DAMAGE:
            return self._damage(ground, event.chance)
        return self._start(event, ground)

    def _kill(self, event: Event) -> bool:
        kills = {
            Verb.KILL_WORKER: self.world.kill_worker,
            Verb.KILL_MACHINE: self.world.kill_machine,
            Verb.KILL_SERVER: self.world.kill_server,
            Verb.KILL_STORE: self.world.kill_store,
        }
        if event.verb is Verb.KILL_FLOW:
            killed = self.world.kill_flow(event.chance)
        else:
            killed = kills[event.verb](event.away_s)
        self.say(f"{'killed' if killed else 'not there'}: {event.verb.value}")
        return killed

    def _arrive(self, ground: Ground) -> bool:
        # Of two places none has the other's scenes.
        number = len(ground.jobs) * len(self.grounds) + self.grounds.index(ground)
        scene = make_scene(self.world.folder, self.seed, number)
        ground.bring(scene)
        ground.jobs.append(wanted(ground.place, scene))
        scene.unlink()
        return True

    def _damage(self, ground: Ground, chance: float) -> bool:
        done = damage(ground.place, ground.jobs, chance)
        if done is None:
            return False
        job, what = done
        ground.damaged.append(job)
        self.say(f"damaged: {ground.place.name} {job.scene}, {what}")
        return True

    def _start(self, event: Event, ground: Ground) -> bool:
        """Start it, unless one of its kind was started a moment ago and goes on."""
        if not self.world.answers or self._goes_on(event.verb, event.place):
            return False
        job = None
        if event.verb is Verb.REPAIR:
            among = ground.damaged or published(ground.place, ground.jobs)
            job = actors.due(among, event.chance)
            if job is None:
                return False
            ground.damaged = [one for one in ground.damaged if one != job]
        run_id = self.ask_for(event.verb, ground, event.chance, job)
        self._last[event.verb, event.place] = run_id, time.monotonic()
        return True

    def _goes_on(self, verb: Verb, place: str) -> bool:
        # The deployment of ingest takes one run at a time, whatever its place is.
        places = [one.place.name for one in self.grounds] if verb is Verb.INGEST else [place]
        now = time.monotonic()
        found = [self._last.get((verb, one), ("", 0.0)) for one in places]
        last = {run_id for run_id, begun in found if now - begun < AGAIN_S}
        return any(run["id"] in last and records.is_open(run) for run in self.runs())

    def _sums(self) -> tuple[int, int]:
        runs = sum(self.done[verb] for verb in actors.DEPLOYMENTS)
        return runs, sum(self.done[verb] for verb in set(DECK))

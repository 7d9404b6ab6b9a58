"""Workers on one job, one call at a time: the world says whose call is next and what befalls it."""

import contextlib
import enum
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any
from unittest import mock

from scenemosaic import job, session, windows
from scenemosaic.claiming import held
from scenemosaic.claiming.claims import ClaimSettings
from scenemosaic.committing.commit import RetryPolicy
from scenemosaic.errors import TransientStoreError
from scenemosaic.places import Place
from scenemosaic.publishing import publish
from scenemosaic.session import JobSpec, Run, Session
from scenemosaic.stores.port import Answer, WriteResult
from scenemosaic.windows import WindowOutcome
from tests.faults.effects import FakeTime
from tests.faults.model import job as model_job
from tests.faults.model.checks import Checks
from tests.faults.model.gate import Call, Death, Gated
from tests.faults.model.ports import ModelManifest, ModelStore
from tests.faults.model.s3 import s3_store, small_parts

POLICY = RetryPolicy(attempts=4, base_s=0.1, cap_s=1.0)
LEASE_S = 2.0
_WAIT_S = 60.0


class Fate(enum.Enum):
    """What befalls one call."""

    DELIVER = "made, and answered"
    LOSE_REPLY = "made; the reply is lost"
    DROP = "never made; the caller sees a time-out"
    DELAY = "the caller sees a time-out; made at some later moment"
    CONFLICT = "never made; answered 409"
    THROTTLE = "never made; answered 503 with Retry-After"
    DIE_BEFORE = "never made; the worker is killed"
    DIE_AFTER = "made; the worker is killed before the reply"
    DIE_DELAYED = "the worker is killed; made at some later moment"


FAULTS = (Fate.LOSE_REPLY, Fate.DROP, Fate.DELAY, Fate.CONFLICT, Fate.THROTTLE)
DEATHS = (Fate.DIE_BEFORE, Fate.DIE_AFTER, Fate.DIE_DELAYED)


class Stuck(RuntimeError):
    """A worker neither made a call nor ended."""


@dataclass
class Worker:
    """One run of the job, or of a part of it, in a thread that moves only when it is told to."""

    number: int
    run: Run
    part: tuple[int, ...] | None  # these windows alone, as a mapped task does; None: everything
    encoder: int
    time: FakeTime = field(default_factory=FakeTime)
    outcomes: list[WindowOutcome] = field(default_factory=list)
    struck: Counter[str] = field(default_factory=Counter)
    call: Call | None = None
    fate: Fate | None = None
    ended: bool = False
    dead: bool = False
    result: Any = None
    error: BaseException | None = None
    go: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    thread: threading.Thread | None = None

    @property
    def waiting(self) -> bool:
        return self.call is not None and not self.ended


class World:
    """``with World() as world``; ``history`` tells what happened, for a failure's message."""

    def __init__(self, wrap: Callable[[Any, Any], tuple[Any, Any]] | None = None) -> None:
        self.checks = Checks(ModelStore(), ModelManifest())
        self.workers: list[Worker] = []
        self.in_flight: list[Call] = []
        self.history: list[str] = []
        self.steps = self.effects = 0
        self.through_s3 = False
        self.policy = POLICY
        self._wrap = wrap or (lambda store, manifest: (store, manifest))
        # What preflight remembers. With a mistake in place it has looked before that was made.
        self.sound = {"model://root", "model://manifest"} if wrap else set()
        self._moved = threading.Semaphore(0)
        self._here = threading.local()
        self._patches = contextlib.ExitStack()

    def __enter__(self) -> "World":
        patch = self._patches.enter_context
        patch(mock.patch.object(session, "open_place", self._open))
        patch(mock.patch.object(windows, "make_tile", self._make_tile))
        patch(small_parts())
        memory = mock.Mock(knows=self.sound.__contains__, remember=self.sound.add)
        patch(mock.patch.object(job, "Memory", return_value=memory))
        # A holder that waits for its turn here is one that is paused past its claim's expiry.
        patch(mock.patch.object(held, "Heartbeat", return_value=contextlib.nullcontext()))
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self.workers:
            while not worker.ended:
                self._move(worker, Fate.DIE_BEFORE)
        self._patches.close()

    def start(self, run_id: str, part: tuple[int, ...] | None = None, encoder: int = 6) -> Worker:
        """A worker, up to its first call."""
        worker = Worker(len(self.workers), Run(run_id, run_id), part, encoder)
        self.history.append(f"worker {worker.number} starts as {run_id}, windows {part or 'all'}")
        worker.thread = threading.Thread(target=self._work, args=(worker,), daemon=True)
        self.workers.append(worker)
        worker.thread.start()
        self._wait()
        self.checks.settled(self)
        return worker

    @property
    def waiting(self) -> list[Worker]:
        return [worker for worker in self.workers if worker.waiting]

    def step(self, worker: Worker, fate: Fate) -> None:
        """The worker's call meets its fate, and the worker goes on to its next call."""
        self.steps += 1
        self._move(worker, fate)
        self.checks.settled(self)

    def land(self, index: int) -> None:
        """A delayed request arrives at last; nobody waits for its reply."""
        call = self.in_flight.pop(index % len(self.in_flight))
        self.history.append(f"a delayed {call} lands")
        self.steps += 1
        with contextlib.suppress(Exception):
            call.run()
        self.checks.settled(self)

    def claim(self) -> None:
        """The mosaic counts as costly from here on, so that it is claimed."""
        for name in ("CLAIM_FROM_BYTES", "CLAIM_FAR_FROM_BYTES", "CLAIM_UPLOADS_FROM_BYTES"):
            self._patches.enter_context(mock.patch.object(publish, name, 0))

    def go_through_s3(self) -> None:
        """The store is reached through the S3 adapter, whose uploads are claimed."""
        self.claim()
        self.through_s3 = True

    def tiles_first(self) -> None:
        """All tiles and rows without a fault, so that what follows befalls the assembly."""
        self.start("early", tuple(range(len(model_job.names()))))
        self._finish_all()

    def settle(self) -> None:
        """No more faults: all workers end in turns, what is in flight lands, and runs follow."""
        self._finish_all()
        while self.in_flight:
            self.land(0)
        self.start("settling")
        self._finish_all()
        self.checks.complete(self)
        before = self.effects
        self.start("idle")
        self._finish_all()
        self.checks.expect(self.effects == before, "a run of a finished job had an effect")
        self.checks.settled(self)

    def _finish_all(self) -> None:
        while self.waiting:
            for worker in self.waiting:
                self.step(worker, Fate.DELIVER)

    def _move(self, worker: Worker, fate: Fate) -> None:
        self.history.append(f"worker {worker.number}: {worker.call} [{fate.name}]")
        worker.fate = fate
        worker.go.release()
        self._wait()

    def _wait(self) -> None:
        if not self._moved.acquire(timeout=_WAIT_S):
            raise Stuck("\n".join(self.history))

    # What follows runs in the workers' threads.

    def _work(self, worker: Worker) -> None:
        self._here.worker = worker
        spec = JobSpec(model_job.plan(), ("none",), f"model:{worker.number}", "model:")
        try:
            worker.result = _program(spec, worker)
        except BaseException as error:  # noqa: BLE001 - judged by the checks
            worker.error = error
        finally:
            worker.ended = True
            self._moved.release()

    def _open(self, place: Place) -> Session:
        worker = self.workers[int(place.store.root.removeprefix("model:"))]
        store: Any = Gated("store", self.checks.store, self._gate)
        now = f"2026-01-01T00:00:{worker.number:02d}Z"  # so that no two workers say the same
        effects = replace(worker.time.effects(), now=lambda: now)
        if self.through_s3:
            checks = self.checks
            store = s3_store(checks.store, checks.uploads, self._gate, POLICY, effects)
        manifest = Gated("manifest", self.checks.manifest, self._gate)
        wrapped = self._wrap(store, manifest)
        claiming = ClaimSettings(LEASE_S, nonce=lambda: str(len(self.history)))
        return Session(*wrapped, POLICY, effects, lambda: now, claiming)

    def _make_tile(self, spec: JobSpec, window: Any, *_: object) -> Any:
        worker = self.workers[int(spec.root.removeprefix("model:"))]
        return model_job.tiles(worker.encoder)[window.name]

    def _gate(self, call: Call) -> Any:
        worker: Worker = self._here.worker
        if worker.dead:
            raise Death
        worker.call = call
        self._moved.release()
        if not worker.go.acquire(timeout=_WAIT_S):
            raise Stuck(str(call))
        worker.call = None
        return self._meet(worker, call, worker.fate or Fate.DELIVER)

    def _meet(self, worker: Worker, call: Call, fate: Fate) -> Any:
        self.effects += call.effect
        if call.cleans_up and fate in FAULTS:
            fate = Fate.DELIVER
        if fate in DEATHS:
            worker.dead = True
            self._die(call, fate)
        if fate is Fate.DELIVER or (fate is Fate.CONFLICT and not call.conditional_write):
            return call.run()
        worker.struck["faults"] += 1
        tile = "tile " if call.target.startswith("tiles/") and call.effect else ""
        worker.struck[f"{tile}{'409' if fate is Fate.CONFLICT else 'ambiguous'}"] += 1
        if fate is Fate.CONFLICT:
            return WriteResult(Answer.RACING)
        if fate is Fate.LOSE_REPLY:
            call.run()
        if fate is Fate.DELAY:
            self._delay(call)
        raise TransientStoreError(f"{call}: {fate.value}", 1.0 if fate is Fate.THROTTLE else None)

    def _die(self, call: Call, fate: Fate) -> None:
        if fate is Fate.DIE_AFTER:
            call.run()
        if fate is Fate.DIE_DELAYED:
            self._delay(call)
        raise Death

    def _delay(self, call: Call) -> None:
        # An upload that begins when nobody waits for it any more is gc's.
        if call.effect and call.verb != "begin":
            self.in_flight.append(call)


def _program(spec: JobSpec, worker: Worker) -> Any:
    """What a run of ``process`` does after planning; or what one mapped task does."""
    done = job.finished(spec)
    if done is not None:
        return done
    job.prepare(spec)
    if worker.part is not None:
        return job.commit_windows(spec, worker.part, worker.run, worker.outcomes.append)
    unrecorded = [*job.publish_plan(spec, worker.run).unrecorded]
    missing = list(job.missing_windows(spec))
    turn = worker.number % max(len(missing), 1)
    batch = job.commit_windows(
        spec, [*missing[turn:], *missing[:turn]], worker.run, worker.outcomes.append
    )
    worker.struck["batch"] = 1
    counted = dict(batch.counters)
    worker.struck.update({f"counted {name}": count for name, count in counted.items()})
    mosaic = job.assemble(spec, worker.run)
    unrecorded += [*batch.unrecorded, *mosaic.trace.unrecorded]
    job.record_rest(spec, worker.run, unrecorded)
    return mosaic

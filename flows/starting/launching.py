"""How one scene's job is carried out from another flow: by a deployment, or in this process.

Either way the same job may be started as often as one likes: a deployment keeps one run for
each key, and what runs write is written at most once.
"""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import nullcontext
from contextvars import Context
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, Protocol, Self, TypeVar
from uuid import UUID

import httpx
from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import FlowRun, State
from prefect.context import SettingsContext
from prefect.deployments import run_deployment
from prefect.exceptions import ObjectNotFound

from flows.engines.engine import THREADS, Engine
from flows.engines.limits import Limits, limits_of_each
from flows.engines.own_cluster import OwnCluster
from flows.engines.reaching import check_answers
from flows.scenes.session import Session, Silent
from flows.server import lost
from flows.server.api import PrefectUnavailable
from flows.server.patience import PATIENCE_S, is_refusal, patiently
from flows.starting.launch import Ended, Launch, Started
from flows.starting.planned_run import process_planned
from scenemosaic.errors import InputError, SceneMosaicError
from scenemosaic.machine import in_hand

PROCESS: Final = "process-scene/default"
FIRST_POLL_S: Final = 1.0
LAST_POLL_S: Final = 10.0

_DONE: Final = ("Mosaicked", "AlreadyMosaicked")
_CODES: Final = {"BadInput": 2, "StoreFault": 5}
T = TypeVar("T")


class Launcher(Protocol):
    """Starts jobs, and follows them to their ends; for many threads at once.

    To be left (``with``) once every :meth:`wait` has returned.
    """

    def __enter__(self) -> Self:
        """The launcher itself."""

    def __exit__(self, *raised: Any) -> None:
        """End what was started for all runs."""

    def start(self, launch: Launch) -> Started:
        """Start the job, or find its run. Raises InputError, PrefectUnavailable, NobodyAnswers."""

    def wait(self, launch: Launch, started: Started) -> Ended:
        """Follow a run to its end. Raises PrefectUnavailable."""

    def stop(self) -> None:
        """Let every :meth:`wait` return soon, whatever became of its run."""


@dataclass(frozen=True, slots=True)
class InProcess:
    """Runs of ``process-scene`` in this very process; the work is done in :meth:`wait`.

    ``prepare`` is called before the first of them, once, where their cluster answers. They are
    no runs below the calling one, whose settings alone they take over: on its retry Prefect
    would hand one scene the outcome of another. All share ``cluster``, which the first starts
    that has windows to make.
    """

    limits: Limits
    cluster: OwnCluster
    prepare: Callable[[], None] = lambda: None
    _stopped: threading.Event = field(default_factory=threading.Event)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _ready: Future[None] = field(default_factory=Future)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: Any) -> None:
        self.cluster.__exit__(*raised)

    def start(self, launch: Launch) -> Started:
        with self._lock:
            if not self._ready.done():
                self._get_ready()
        self._ready.result()
        return Started(None)

    def _get_ready(self) -> None:
        """Once for all: what is wrong with their cluster or Prefect, no other scene waits for."""
        try:
            check_answers(self.limits.engine)
            self.prepare()
        except SceneMosaicError as error:
            self._ready.set_exception(error)
        else:
            self._ready.set_result(None)

    def wait(self, launch: Launch, started: Started) -> Ended:
        if self._stopped.is_set():
            return Ended("Stopped", "it was not begun", None, 3)
        session = Session(launch.scene.spec, Silent(), cluster=self.cluster)
        settings = SettingsContext.get()
        work = partial(process_planned, session, self.limits, launch.scene.options)
        try:
            with in_hand.scene():
                state = Context().run(_with, settings, work)
        except lost.LOST as error:
            if not session.reports:
                raise PrefectUnavailable(lost.said(error)) from error
            report = session.reports[-1]
            name = "AlreadyMosaicked" if report.all_was_there else "Mosaicked"
            return Ended(name, report.summary, None, report.exit_code)
        run_id = state.state_details.flow_run_id
        ended = _ended(state, None if run_id is None else str(run_id))
        failure = session.reports[-1].error if session.reports else None
        # The state speaks to whoever looks at Prefect's form, and a command reads this.
        return ended if failure is None else replace(ended, message=str(failure))

    def stop(self) -> None:
        self._stopped.set()


@dataclass(frozen=True, slots=True)
class Deployed:
    """Runs of a deployment of ``process-scene``, one for each key, wherever its workers are."""

    deployment: str
    patience_s: float = PATIENCE_S
    clock: Callable[[], float] = time.monotonic
    _stopped: threading.Event = field(default_factory=threading.Event)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: Any) -> None:
        """Nothing: what its runs start ends with them."""

    def start(self, launch: Launch) -> Started:
        parameters = launch.parameters()

        def run() -> FlowRun:
            # Prefect numbers a run's children without a lock.
            with self._lock:
                made: Any = run_deployment(
                    self.deployment,
                    parameters=parameters,
                    flow_run_name=launch.name,
                    idempotency_key=launch.key,
                    timeout=0,
                )
            return made  # type: ignore[no-any-return]

        try:
            made = self._patiently(run)
        except ObjectNotFound as error:
            raise InputError(
                f"Prefect has no deployment {self.deployment}: deploy or serve it first"
            ) from error
        except httpx.HTTPStatusError as error:
            raise InputError(f"{self.deployment} does not take the parameters: {error}") from error
        return Started(str(made.id), made.state is not None and made.state.is_final())

    def wait(self, launch: Launch, started: Started) -> Ended:
        run_id = UUID(str(started.run_id))
        pause_s = FIRST_POLL_S
        with get_client(sync_client=True) as client:
            while True:
                run = self._patiently(lambda: client.read_flow_run(run_id))
                if run.state is not None and run.state.is_final():
                    return _ended(run.state, str(run_id), started.is_earlier)
                if self._stopped.wait(pause_s):
                    return Ended("Running", "nobody follows it any more", str(run_id), 3)
                pause_s = min(pause_s * 1.5, LAST_POLL_S)

    def stop(self) -> None:
        self._stopped.set()

    def _patiently(self, ask: Callable[[], T]) -> T:
        try:
            return patiently(ask, self.patience_s, self.clock, self._stopped.wait)
        except httpx.HTTPError as error:
            if is_refusal(error):
                raise
            raise PrefectUnavailable(f"Prefect's API does not answer ({error})") from error


def _with(settings: SettingsContext | None, work: Callable[[], T]) -> T:
    with nullcontext() if settings is None else settings.model_copy():
        return work()


def _ended(state: State[Any], run_id: str | None, is_earlier: bool = False) -> Ended:
    name = state.name or state.type.value.capitalize()
    return Ended(name, state.message or "", run_id, _exit_code(state, name), is_earlier)


def _exit_code(state: State[Any], name: str) -> int:
    """As the command line's: a conflict is Completed, and what failed or crashed is not done."""
    if state.is_completed():
        return 0 if name in _DONE else 4
    return _CODES.get(name, 3)


def launcher_of(deployment: str | None, at_once: int, engine: Engine = THREADS) -> Launcher:
    """By a deployment's name; where there is none, by this very process.

    ``at_once`` runs then share its cores, or the processes of its engine.
    """
    return Deployed(deployment) if deployment else in_process(None, at_once, engine)


def in_process(
    workers: int | None, at_once: int, engine: Engine, prepare: Callable[[], None] = lambda: None
) -> InProcess:
    """Runs of this process; ``workers`` are each scene's threads, or all scenes' processes."""
    limits = limits_of_each(workers, at_once, engine)
    return InProcess(limits, OwnCluster(limits), prepare)

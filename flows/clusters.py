"""The task runner of an engine, started for one run and closed at its end."""

import logging
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, Final

from prefect import Flow
from prefect.context import FlowRunContext
from prefect.futures import PrefectConcurrentFuture, PrefectFuture
from prefect.task_runners import TaskRunner, ThreadPoolTaskRunner

from flows.engines import Engine, EngineName
from flows.limits import Limits
from flows.redact import public_source
from scenemosaic.errors import InputError, StoreError
from scenemosaic.roots import holds_password
from scenemosaic.session import JobSpec
from tasks import dask_worker
from tasks.records import elsewhere, hand_over

_HAND_OVER_S: Final = 30.0
_RAY_MEMORY_BYTES: Final = 100 << 20
# What workers log reaches Prefect; this run's own console is the command's.
_QUIET: Final = {"PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL": "WARNING"}


class ClusterUnavailable(StoreError):
    """The engine's cluster does not answer, or a batch's workers died again and again."""

    kind = "cluster"


@dataclass(frozen=True, slots=True)
class Pool:
    """A task runner, how a batch of it is given up, and what says that its worker was lost."""

    runner: TaskRunner[Any]
    cancel: Callable[[Any], object]
    lost: tuple[type[Exception], ...] = ()

    def is_cancelled(self, future: PrefectFuture[Any]) -> bool:
        cancelled = getattr(getattr(future, "wrapped_future", None), "cancelled", None)
        return cancelled is not None and bool(cancelled())

    def give_up(self, futures: list[PrefectFuture[Any]]) -> None:
        """Start none of the batches that wait; what threads have begun, they finish."""
        for future in futures:
            self.cancel(future)

    def result(self, future: PrefectFuture[Any]) -> Any:
        """A batch's value, or the error that it ended with."""
        try:
            return future.result(raise_on_failure=False)
        except self.lost as error:
            return ClusterUnavailable(
                f"a batch's worker process was lost ({type(error).__name__}: {error}); what is "
                "committed stays: run it again, with fewer workers where memory is short"
            )


@contextmanager
def lean_context() -> Iterator[None]:
    """Prefect's context of this flow run as it crosses to workers: the run, and no more.

    The flow itself would be sent as code, and its parameters once more with every batch.
    """
    context = FlowRunContext.get()
    if context is None:
        yield
        return
    name = context.flow.name if context.flow is not None else None
    stand_in: Any = Flow(elsewhere, name=name, persist_result=False)
    with context.model_copy(update={"flow": stand_in, "parameters": {}}):
        yield


def pool_of(limits: Limits, spec: JobSpec) -> AbstractContextManager[Pool]:
    """The engine's workers, for the length of a ``with`` block.

    Raises ClusterUnavailable where the cluster does not answer, InputError where ``spec`` would
    carry a secret to another machine.
    """
    if limits.engine.address is not None:
        _check_secrets(spec)
    return _POOLS[limits.engine.name](limits)


def _check_secrets(spec: JobSpec) -> None:
    if holds_password(spec.manifest) or any(
        public_source(location) != location for location in spec.locations
    ):
        raise InputError(
            "a manifest's password or a source's signature would go to another machine: save "
            "the password in a Tile Manifest block, and let the workers reach the sources"
        )


@contextmanager
def _threads(limits: Limits) -> Iterator[Pool]:
    runner: ThreadPoolTaskRunner[Any]
    with ThreadPoolTaskRunner(max_workers=limits.workers) as runner:
        yield Pool(runner, _cancel_thread)


def _cancel_thread(future: PrefectFuture[Any]) -> None:
    if isinstance(future, PrefectConcurrentFuture):
        future.wrapped_future.cancel()


@contextmanager
def _dask(limits: Limits) -> Iterator[Pool]:
    from distributed import KilledWorker
    from prefect_dask.task_runners import DaskTaskRunner

    # Else every worker's coming and going stands in the run's own log.
    logging.getLogger("distributed").setLevel(logging.WARNING)
    with DaskTaskRunner(**_dask_settings(limits)) as runner:
        with _answering(limits.engine):
            client: Any = runner.client  # to ask for it connects it
        with lean_context():
            yield Pool(runner, lambda future: future.wrapped_future.cancel(), (KilledWorker,))
        # What Prefect's threads have not sent yet would end with their processes.
        client.run(hand_over, _HAND_OVER_S, on_error="ignore")


def _dask_settings(limits: Limits) -> dict[str, Any]:
    if limits.engine.address is not None:
        return {"address": limits.engine.address}
    # No page, which would take a port; no limit of Dask's own on memory, which kills; and one
    # thread each, as GDAL's and zlib's memory is then a window's.
    own = {
        "n_workers": limits.workers,
        "threads_per_worker": 1,
        "processes": True,
        "dashboard_address": None,
        "memory_limit": 0,
        # Whoever else works on this machine would otherwise be let in.
        "security": True,
        "env": dict(_QUIET),
        "preload": [dask_worker.__name__],
    }
    return {"cluster_kwargs": own}


@contextmanager
def _ray(limits: Limits) -> Iterator[Pool]:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    import ray
    from prefect_ray.task_runners import RayTaskRunner
    from ray.exceptions import RayError

    with ExitStack() as stack:
        with _answering(limits.engine), _same_signals():
            runner: Any = stack.enter_context(RayTaskRunner(**_ray_settings(limits)))
        stack.enter_context(lean_context())
        yield Pool(runner, lambda future: ray.cancel(future.wrapped_future), (RayError,))


def _ray_settings(limits: Limits) -> dict[str, Any]:
    said = {"logging_level": logging.ERROR, "log_to_driver": False}
    if limits.engine.address is not None:
        return {"address": limits.engine.address, "init_kwargs": said}
    # Windows go to the store, and never through Ray's own memory.
    own = {"num_cpus": limits.workers, "include_dashboard": False}
    return {"init_kwargs": {**said, **own, "object_store_memory": _RAY_MEMORY_BYTES}}


@contextmanager
def _answering(engine: Engine) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError, RuntimeError) as error:
        where = f"at {engine.address}" if engine.address else "of this machine"
        raise ClusterUnavailable(
            f"the {engine.name} cluster {where} does not answer: {error}"
        ) from error


@contextmanager
def _same_signals() -> Iterator[None]:
    """Ray takes SIGTERM for itself; whoever handles it here goes on to."""
    before = signal.getsignal(signal.SIGTERM)
    yield
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, before)


_POOLS: Final[dict[EngineName, Callable[[Limits], AbstractContextManager[Pool]]]] = {
    "threads": _threads,
    "dask": _dask,
    "ray": _ray,
}

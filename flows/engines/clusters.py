"""The task runner of an engine, for one run."""

import logging
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, Final

from prefect import Flow
from prefect.context import FlowRunContext
from prefect.futures import PrefectConcurrentFuture, PrefectFuture, as_completed
from prefect.task_runners import TaskRunner, ThreadPoolTaskRunner

from flows.engines.engine import EngineName
from flows.engines.own_cluster import ClusterUnavailable, OwnCluster, answering
from flows.redact import public_source
from scenemosaic.errors import InputError, StoreError
from scenemosaic.roots import holds_password
from scenemosaic.session import JobSpec
from tasks.records import elsewhere


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


@contextmanager
def pool_of(cluster: OwnCluster, spec: JobSpec) -> Iterator[Pool]:
    """The engine's workers, for the length of a ``with`` block; the cluster outlives it.

    Raises ClusterUnavailable where the cluster does not answer, InputError where ``spec`` would
    carry a secret to another machine.
    """
    engine = cluster.limits.engine
    if engine.address is not None:
        _check_secrets(spec)
    with _POOLS[engine.name](cluster) as pool:
        yield pool


def collect(
    futures: list[PrefectFuture[Any]],
    pool: Pool,
    take: Callable[[Any], None],
    what: str = "windows",
) -> None:
    """``take`` each value of a batch of ``what``.

    After the first error no further batch is started, then it is raised.
    """
    failure: Exception | None = None
    for future in as_completed(futures):
        if pool.is_cancelled(future):
            continue
        result = pool.result(future)
        if not isinstance(result, Exception):
            take(result)
        elif failure is None:
            failure = result
            pool.give_up(futures)
    if failure is not None:
        raise _named(failure, what)


def _named(failure: Exception, what: str) -> Exception:
    if isinstance(failure, TimeoutError):
        return StoreError(f"a batch of {what} did not end in time: {failure}")
    return failure


def _check_secrets(spec: JobSpec) -> None:
    if holds_password(spec.manifest) or any(
        public_source(location) != location for location in spec.locations
    ):
        raise InputError(
            "a manifest's password or a source's signature would go to another machine: save "
            "the password in a Tile Manifest block, and let the workers reach the sources"
        )


@contextmanager
def _threads(cluster: OwnCluster) -> Iterator[Pool]:
    runner: ThreadPoolTaskRunner[Any]
    with ThreadPoolTaskRunner(max_workers=cluster.limits.workers) as runner:
        yield Pool(runner, _cancel_thread)


def _cancel_thread(future: PrefectFuture[Any]) -> None:
    if isinstance(future, PrefectConcurrentFuture):
        future.wrapped_future.cancel()


@contextmanager
def _dask(cluster: OwnCluster) -> Iterator[Pool]:
    from distributed import KilledWorker
    from prefect_dask.task_runners import DaskTaskRunner

    # Else every worker's coming and going stands in the run's own log.
    logging.getLogger("distributed").setLevel(logging.WARNING)
    engine = cluster.limits.engine
    with DaskTaskRunner(cluster=cluster.get(), address=engine.address) as runner:
        with answering(engine):
            _ = runner.client  # to ask for it connects it
        with lean_context():
            yield Pool(runner, lambda future: future.wrapped_future.cancel(), (KilledWorker,))


@contextmanager
def _ray(cluster: OwnCluster) -> Iterator[Pool]:
    cluster.get()
    import ray
    from prefect_ray.task_runners import RayTaskRunner
    from ray.exceptions import RayError

    with RayTaskRunner() as runner, lean_context():
        yield Pool(runner, lambda future: ray.cancel(future.wrapped_future), (RayError,))


_POOLS: Final[dict[EngineName, Callable[[OwnCluster], AbstractContextManager[Pool]]]] = {
    "threads": _threads,
    "dask": _dask,
    "ray": _ray,
}

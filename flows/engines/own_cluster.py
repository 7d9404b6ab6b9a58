"""A cluster of this process's own: started by the first run that needs it, closed with the last."""

import logging
import os
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import (
    AbstractContextManager,
    ExitStack,
    contextmanager,
    nullcontext,
    redirect_stdout,
)
from typing import Any, Final, Self

from flows.engines.engine import Engine, EngineName
from flows.engines.limits import Limits
from scenemosaic.errors import StoreError
from tasks import dask_worker

_HAND_OVER_S: Final = 30.0
_RAY_MEMORY_BYTES: Final = 100 << 20
# It tells nobody what it is used for, and prints no stack where a signal ends the command.
_RAY_ENVIRONMENT: Final = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_DISABLE_FAILURE_SIGNAL_HANDLER": "1",
}
# It says the same of a wrong token as of a closed port.
_RAY_HINT: Final = "; where it asks for a token, set RAY_AUTH_MODE=token and its token here, too"
# What workers log reaches Prefect; this run's own console is the command's.
_QUIET: Final = {"PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL": "WARNING"}


class ClusterUnavailable(StoreError):
    """The engine's cluster does not answer, or a batch's workers died again and again."""

    kind = "cluster"


class OwnCluster:
    """One cluster for every run of this process at the same ``limits``; safe in many threads.

    It has ``limits.workers`` processes in all. Where there is an address, or workers are
    threads, there is none to start.
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._lock = threading.Lock()
        self._stack = ExitStack()
        self._started: list[Any] = []

    def get(self) -> Any:
        """Dask's cluster, or None. Raises ClusterUnavailable where it does not start."""
        with self._lock:
            if not self._started:
                start = _STARTS[self.limits.engine.name]
                self._started.append(self._stack.enter_context(start(self.limits)))
            return self._started[0]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: Any) -> None:
        """End it; at once where something was raised, else once all is recorded."""
        self._stack.__exit__(*raised)


def shared(given: OwnCluster | None, limits: Limits) -> AbstractContextManager[OwnCluster]:
    """``given``, which outlives the ``with`` block, or one that ends with it."""
    return OwnCluster(limits) if given is None else nullcontext(given)


@contextmanager
def answering(engine: Engine) -> Iterator[None]:
    """What says that a cluster does not answer, as ClusterUnavailable."""
    try:
        yield
    except (OSError, ValueError, RuntimeError) as error:
        raise _unavailable(engine, error) from error


def _unavailable(engine: Engine, error: BaseException) -> ClusterUnavailable:
    where = f"at {engine.address}" if engine.address else "of this machine"
    hint = _RAY_HINT if engine.name == "ray" and engine.address else ""
    return ClusterUnavailable(f"the {engine.name} cluster {where} does not answer: {error}{hint}")


def _no_cluster(limits: Limits) -> AbstractContextManager[None]:
    return nullcontext()


@contextmanager
def _dask_cluster(limits: Limits) -> Iterator[Any]:
    if limits.engine.address is not None:
        yield None
        return
    from distributed import Client, LocalCluster

    from tasks.records import hand_over

    with ExitStack() as stack:
        with answering(limits.engine):
            start: Any = LocalCluster  # it has no types
            cluster = stack.enter_context(start(**_dask_settings(limits)))
        yield cluster
        # What Prefect's threads have not sent yet would end with their processes.
        connect: Any = Client
        with connect(cluster, set_as_default=False) as client:
            client.run(hand_over, _HAND_OVER_S, on_error="ignore")


def _dask_settings(limits: Limits) -> dict[str, Any]:
    # No page, which would take a port; no limit of Dask's own on memory, which kills; and one
    # thread each, as GDAL's and zlib's memory is then a window's.
    return {
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


@contextmanager
def _ray_cluster(limits: Limits) -> Iterator[None]:
    """Ray's connection is the process's: runs that begin later find and keep it."""
    for name, value in _RAY_ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    import ray

    # The error says it.
    warnings.filterwarnings("ignore", "Ray Client connection timed out", UserWarning)
    if ray.is_initialized():
        yield
        return
    # Linux kills Ray's processes as the thread ends that started them: one scene's ends too soon.
    # And Ray prints what its processes complain of where a command answers.
    with ThreadPoolExecutor(1, thread_name_prefix="ray") as keeper, redirect_stdout(sys.stderr):
        try:
            # What is not there in time is a plain Exception of Ray's.
            if error := keeper.submit(ray.init, **_ray_settings(limits)).exception():
                raise _unavailable(limits.engine, error) from error
            yield
        finally:
            keeper.submit(ray.shutdown).result()


def _ray_settings(limits: Limits) -> dict[str, Any]:
    said = {"logging_level": logging.ERROR, "log_to_driver": False}
    if limits.engine.address is not None:
        return {"address": limits.engine.address, **said}
    # A cluster of somebody else's on this machine would be found and joined.
    own = {"address": "local", "num_cpus": limits.workers, "include_dashboard": False}
    # Windows go to the store, and never through Ray's own memory.
    return {**said, **own, "object_store_memory": _RAY_MEMORY_BYTES}


_STARTS: Final[dict[EngineName, Callable[[Limits], AbstractContextManager[Any]]]] = {
    "threads": _no_cluster,
    "dask": _dask_cluster,
    "ray": _ray_cluster,
}

"""One job of tiny windows by the engine alone, stage by stage: ``python -m bench.scale_stages``.

Prints for each stage CPU and wall seconds, the peak memory of the process while it lasted, and
the requests that it made: calls of the store's verbs, and statements of the manifest.
"""

import argparse
import functools
import json
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy as sa

from bench.engine import WORKERS, cpu_s, new_run
from scenemosaic import gaps, job
from scenemosaic.job import JobSpec, PlanOptions
from scenemosaic.machine import collector
from scenemosaic.session import open_session
from scenemosaic.stores.port import Store

T = TypeVar("T")
VERBS = ("head", "get", "put", "compose", "list")
BATCH = 200


class Requests:
    """Counts what store and manifest are asked."""

    def __init__(self) -> None:
        self.count = 0
        sa.event.listen(sa.Engine, "before_cursor_execute", self._asked)

    def watch(self, store: Store) -> None:
        """Count the calls of a store's verbs."""
        for verb in VERBS:
            setattr(store, verb, self._counted(getattr(store, verb)))

    def _counted(self, verb: Callable[..., T]) -> Callable[..., T]:
        @functools.wraps(verb)
        def ask(*args: Any, **named: Any) -> T:
            self.count += 1
            return verb(*args, **named)

        return ask

    def _asked(self, *_: object) -> None:
        self.count += 1


class Stages:
    """Measures one stage after the other."""

    def __init__(self) -> None:
        self.requests = Requests()
        self.measured: dict[str, dict[str, float]] = {}

    def measure(self, name: str, work: Callable[[], T]) -> T:
        """What ``work`` gives back; what it took is noted."""
        _forget_peak()
        asked, used_s, started = self.requests.count, cpu_s(), time.monotonic()
        result = work()
        self.measured[name] = {
            "cpu_s": cpu_s() - used_s,
            "wall_s": time.monotonic() - started,
            "peak_bytes": _peak_bytes(),
            "requests": self.requests.count - asked,
        }
        return result


def work_through(stages: Stages, scene: str, root: str, options: PlanOptions) -> JobSpec:
    """Plan, commit, count, look for gaps, assemble, and find it all done."""
    run = new_run()
    spec = stages.measure("plan", lambda: job.plan_job([scene], root, None, options))
    session, tiling = open_session(spec), spec.plan.recipe.tiling()
    stages.requests.watch(session.store)
    job.prepare(spec)
    job.publish_plan(spec, run)
    numbers = job.missing_windows(spec)
    batches = [numbers[start : start + BATCH] for start in range(0, len(numbers), BATCH)]

    def commit() -> None:
        with ThreadPoolExecutor(WORKERS) as pool:
            list(pool.map(lambda batch: job.commit_windows(spec, batch, run, None), batches))

    stages.measure("commit", commit)
    rows = session.partitions(spec)
    names = stages.measure("count", lambda: list(session.manifest.windows(rows)))
    report = stages.measure("gap check", lambda: gaps.find_gaps(tiling, names))
    if report.missing:
        raise SystemExit(f"{len(report.missing)} windows are missing: use a fresh root")
    stages.measure("assembly", lambda: job.assemble(spec, run, None))
    if stages.measure("no-op rerun", lambda: job.finished(spec)) is None:
        raise SystemExit("the job is not finished after its assembly")
    return spec


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scene")
    parser.add_argument("root")
    parser.add_argument("--window", type=int, required=True)
    options = parser.parse_args(arguments)
    collector.work()
    stages = Stages()
    coding = PlanOptions(window=options.window, block_size=options.window)
    spec = work_through(stages, options.scene, options.root, coding)
    windows = len(spec.plan.recipe.tiling())
    print(json.dumps({"windows": windows, "stages": stages.measured}))


def _forget_peak() -> None:
    """Let Linux measure the peak of this process's memory from now on."""
    Path("/proc/self/clear_refs").write_text("5")


def _peak_bytes() -> int:
    lines = Path("/proc/self/status").read_text("utf-8").splitlines()
    return 1024 * int(next(line for line in lines if line.startswith("VmHWM")).split()[1])


if __name__ == "__main__":
    main()

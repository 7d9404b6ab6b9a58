"""The engine without Prefect as a child process; prints what each stage took as JSON.

``python -m bench.engine process SCENE ROOT`` plans, commits on two threads and
assembles; ``commit`` stops before assembly; ``assemble JOB ROOT`` does it alone.
"""

import argparse
import json
import os
import resource
import time
import uuid
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

from scenemosaic.machine import collector
from scenemosaic.machine.one_thread import one_thread_each
from scenemosaic.machine.without_boto3 import rasterio_without_boto3

# As the command does, before NumPy is there.
one_thread_each()
collector.rest_while_importing()
rasterio_without_boto3()
from scenemosaic import stored_job  # noqa: E402
from scenemosaic.publishing import publish  # noqa: E402
from scenemosaic.session import JobSpec, Run  # noqa: E402

WORKERS = 2


class Clock:
    """CPU and wall seconds by stage; what this process took before is ``import``."""

    def __init__(self) -> None:
        self.stages = {"import": {"cpu_s": cpu_s(), "wall_s": _age_s()}}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Note what the block takes under ``name``."""
        used_s, started = cpu_s(), time.monotonic()
        yield
        wall_s = time.monotonic() - started
        self.stages[name] = {"cpu_s": cpu_s() - used_s, "wall_s": wall_s}


def commit(clock: Clock, scene: str, root: str, options: argparse.Namespace) -> JobSpec:
    """Plan the scene and commit every window, two threads side by side."""
    from scenemosaic import job

    coding = job.PlanOptions(options.window, options.block_size, level=options.level)
    run = new_run()
    with clock.stage("plan"):
        spec = job.plan_job([scene], root, None, coding)
        job.prepare(spec)
        job.publish_plan(spec, run)
    with clock.stage("windows"), ThreadPoolExecutor(WORKERS) as pool:
        numbers = job.missing_windows(spec)
        shares = [numbers[start::WORKERS] for start in range(WORKERS)]
        results = list(pool.map(lambda share: job.commit_windows(spec, share, run, None), shares))
    written = [item.outcome for result in results for item in result.outcomes].count("written")
    if written != len(numbers):
        raise SystemExit(f"{written} of {len(numbers)} windows were written: use a fresh root")
    return spec


def assemble(clock: Clock, spec: JobSpec) -> None:
    """Assemble the mosaic of a job whose windows are all there."""
    with clock.stage("assemble"):
        result = publish.assemble(spec, new_run(), None)
    if result.outcome != "written":
        raise SystemExit(f"the mosaic's outcome is {result.outcome}: use a fresh root")


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("process", "commit", "assemble"))
    parser.add_argument("subject", help="a scene, or for assemble a job ID")
    parser.add_argument("root")
    parser.add_argument("--window", type=int, default=2048)
    parser.add_argument("--block-size", type=int)
    parser.add_argument("--level", type=int)
    options = parser.parse_args(arguments)
    if options.what != "assemble":
        import_module("scenemosaic.job")  # what only assembles needs none of it
    collector.work()
    clock = Clock()
    if options.what == "assemble":
        with clock.stage("load"):
            spec = stored_job.load_job(options.subject, options.root, None)
    else:
        spec = commit(clock, options.subject, options.root, options)
    if options.what != "commit":
        assemble(clock, spec)
    print(json.dumps({"job_id": spec.plan.job_id, "stages": clock.stages}))
    collector.leave()


def new_run() -> Run:
    return Run(run_id=uuid.uuid4().hex, written_by="bench")


def _age_s() -> float:
    """Wall seconds since this process was started."""
    fields = Path("/proc/self/stat").read_text("utf-8").rpartition(")")[2].split()
    started_s = int(fields[19]) / os.sysconf("SC_CLK_TCK")
    return time.clock_gettime(time.CLOCK_BOOTTIME) - started_s


def cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()

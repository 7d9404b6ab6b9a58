"""Cost against size, with tiny windows: ``python -m bench.scale``.

For each size the engine's stages in a process of their own, then the same job by
``scenemosaic process`` with a running Prefect server, then the command again, without a
server, with nothing left to do. What the curves are is said in :mod:`bench.scale_report`.
"""

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from bench import results, scale_report
from bench.cases import PYTHON, Place
from bench.curves import edge_of
from bench.measure import group_cpu_s, measure, run
from bench.orchestration import rested_cpu_s
from bench.places import say, tiny_place
from bench.scale_report import Measured
from bench.server import PrefectServer, prefect_server, with_server

WINDOW = 16
SIZES = (100, 1_000, 10_000)
HUGE = 100_000
RERUNS, IDLE_S = 3, 20.0


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; prints Markdown to stdout and progress to stderr."""
    options = options_of(arguments)
    with tempfile.TemporaryDirectory(prefix="scenemosaic-scale-", dir=options.scratch) as scratch:
        folder = Path(scratch)
        with prefect_server(folder / "server") as server:
            # The smallest job there is shows what starting takes.
            start = _measured(folder / "start", 1, server, 0.0)
            idle = _idle_share(server)
            found = [_measured(folder / str(size), size, server, idle) for size in options.sizes]
    lines = list(scale_report.lines(start, found))
    print("\n".join(lines))
    if options.write:
        results.write("scale", lines)
    return 0


def options_of(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The options, ``sizes`` smallest first."""
    parser = argparse.ArgumentParser(prog="python -m bench.scale", description=__doc__)
    parser.add_argument(
        "--sizes", default=",".join(map(str, SIZES)), metavar="N,N", help="numbers of windows"
    )
    parser.add_argument("--huge", action="store_true", help=f"also {HUGE}: half an hour")
    parser.add_argument("--scratch", help="folder for scratch files (16 kB a window)")
    parser.add_argument("--write", action="store_true", help="into bench/RESULTS.md as well")
    options = parser.parse_args(arguments)
    sizes = {int(size) for size in options.sizes.split(",")} | ({HUGE} if options.huge else set())
    if len(sizes) < 2 or min(sizes) < 2:
        parser.error("a curve needs two sizes of two windows and more")
    options.sizes = sorted(sizes)
    return options


def _idle_share(server: PrefectServer) -> float:
    """CPU seconds a second of a server that nobody asks anything."""
    before = rested_cpu_s(server.group)
    time.sleep(IDLE_S)
    return (group_cpu_s(server.group) - before) / IDLE_S


def _measured(folder: Path, size: int, server: PrefectServer, idle: float) -> Measured:
    place = tiny_place(folder, edge_of(size) * WINDOW, WINDOW)
    told = run(_stages(place), place.env)
    place.clear()
    before, began = rested_cpu_s(server.group), time.monotonic()
    flow = measure(_process(place), with_server(place.env, server))
    server_s = rested_cpu_s(server.group) - before
    server_s = max(0.0, server_s - idle * (time.monotonic() - began))
    reruns = [measure(_process(place), place.env) for _ in range(RERUNS)]
    rerun = min(reruns, key=lambda cost: cost.cpu_s)
    shutil.rmtree(folder)
    measured = Measured(int(told["windows"]), told["stages"], flow, server_s, rerun)
    say(
        f"{measured.windows} windows: engine's stages {measured.engine_cpu_s:.2f} s CPU, "
        f"flow {flow.cpu_s:.2f}, server {server_s:.2f}, no-op command {rerun.cpu_s:.2f}"
    )
    return measured


def _stages(place: Place) -> list[str]:
    command = [PYTHON, "-m", "bench.scale_stages", str(place.scene), str(place.root)]
    return [*command, "--window", str(place.window)]


def _process(place: Place) -> list[str]:
    command = [PYTHON, "-m", "flows.cli", "process", str(place.scene), "--to", str(place.root)]
    return [*command, *place.coding, "--workers", "2", "--json"]


if __name__ == "__main__":
    sys.exit(main())

"""Cost against size, with tiny windows: ``python -m bench.scale``.

For each size the engine's stages in a process of their own, then the same job by
``scenemosaic process`` with a running Prefect server, then the command again, without a
server, with nothing left to do. A curve's exponent is the slope of log CPU over log windows, by
least squares over all sizes; the slope of the last step stands beside it, since fixed costs
make the other look small.
"""

import argparse
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from bench import table
from bench.cases import PYTHON, Place
from bench.curves import LINEAR, Curve, edge_of
from bench.measure import Cost, measure, run
from bench.orchestration import rested_cpu_s
from bench.places import say, tiny_place
from bench.server import PrefectServer, prefect_server, with_server

WINDOW = 16
SIZES = (100, 1_000, 10_000)
HUGE = 100_000
STAGES = ("plan", "commit", "count", "gap check", "assembly", "no-op rerun")
RERUNS, RERUN_S, RERUN_WINDOWS = 3, 2.0, 10_000
MEMORY_MIB, MEMORY_WINDOWS = 500, 90_000
ASSEMBLY_MS, ASSEMBLY_WINDOWS = 2.0, 10_000


@dataclass(frozen=True)
class Measured:
    """One size: the engine's stages, the flow, and the command with nothing left to do."""

    windows: int
    stages: Mapping[str, Mapping[str, float]]
    flow: Cost
    server_s: float
    rerun: Cost

    @property
    def engine_cpu_s(self) -> float:
        return sum(stage["cpu_s"] for stage in self.stages.values())


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; prints Markdown to stdout and progress to stderr."""
    options = options_of(arguments)
    with tempfile.TemporaryDirectory(prefix="scenemosaic-scale-", dir=options.scratch) as scratch:
        folder = Path(scratch)
        with prefect_server(folder / "server") as server:
            # The smallest job there is shows what starting takes.
            start = _measured(folder / "start", 1, server)
            found = [_measured(folder / str(size), size, server) for size in options.sizes]
    print("\n".join(report(start, found)))
    return 0


def options_of(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The options, ``sizes`` smallest first."""
    parser = argparse.ArgumentParser(prog="python -m bench.scale", description=__doc__)
    parser.add_argument(
        "--sizes", default=",".join(map(str, SIZES)), metavar="N,N", help="numbers of windows"
    )
    parser.add_argument("--huge", action="store_true", help=f"also {HUGE}: half an hour")
    parser.add_argument("--scratch", help="folder for scratch files (16 kB a window)")
    options = parser.parse_args(arguments)
    sizes = {int(size) for size in options.sizes.split(",")} | ({HUGE} if options.huge else set())
    if len(sizes) < 2 or min(sizes) < 2:
        parser.error("a curve needs two sizes of two windows and more")
    options.sizes = sorted(sizes)
    return options


def _measured(folder: Path, size: int, server: PrefectServer) -> Measured:
    place = tiny_place(folder, edge_of(size) * WINDOW, WINDOW)
    told = run(_stages(place), place.env)
    place.clear()
    before = rested_cpu_s(server.group)
    flow = measure(_process(place), with_server(place.env, server))
    server_s = rested_cpu_s(server.group) - before
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


def report(start: Measured, found: Sequence[Measured]) -> Iterator[str]:
    """Everything as Markdown: costs by size, the curves, the promises."""
    names = ("prefect", "sqlalchemy", "numpy")
    versions = ", ".join(f"{name} {version(name)}" for name in names)
    yield f"Python {platform.python_version()}, {os.cpu_count()} cores, {versions}."
    yield ""
    yield "| stage | windows | CPU s | wall s | peak MB | requests |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: |"
    for one in found:
        yield from _lines(one)
    yield ""
    yield "| CPU of | exponent | limit | kept | last step |"
    yield "| --- | ---: | ---: | --- | ---: |"
    for curve in curves(found):
        yield f"{table.claim(curve.name, curve.exponent, LINEAR)} {curve.last:.3f} |"
    yield ""
    yield "| promise | measured | limit | kept |"
    yield "| --- | ---: | ---: | --- |"
    yield from promises(start, found)


def _lines(one: Measured) -> Iterator[str]:
    for name, took in one.stages.items():
        yield (
            f"| {name} | {one.windows} | {took['cpu_s']:.3f} | {took['wall_s']:.3f} "
            f"| {took['peak_bytes'] / table.MB:.0f} | {took['requests']:.0f} |"
        )
    for name, cost in (("flow, whole", one.flow), ("no-op command, whole", one.rerun)):
        peak = cost.peak_bytes / table.MB
        yield f"| {name} | {one.windows} | {cost.cpu_s:.3f} | {cost.wall_s:.3f} | {peak:.0f} | |"
    yield f"| Prefect's server | {one.windows} | {one.server_s:.3f} | | | |"


def curves(found: Sequence[Measured]) -> Iterator[Curve]:
    """Each stage's CPU, and orchestration's: the flow with all that it does, and the server."""
    sizes = [one.windows for one in found]
    for name in STAGES:
        yield Curve(name, sizes, [one.stages[name]["cpu_s"] for one in found])
    yield Curve("flow, whole", sizes, [one.flow.cpu_s for one in found])
    yield Curve("Prefect's server", sizes, [one.server_s for one in found])


def promises(start: Measured, found: Sequence[Measured]) -> Iterator[str]:
    """Each limit that a measured size speaks for."""
    for one in found:
        if one.windows >= RERUN_WINDOWS:
            beyond_s = one.rerun.cpu_s - start.rerun.cpu_s
            text = f"no-op command of {one.windows} windows beyond start-up: CPU s"
            yield table.claim(text, beyond_s, RERUN_S * one.windows / RERUN_WINDOWS)
        if one.windows >= ASSEMBLY_WINDOWS:
            each_ms = 1000 * one.stages["assembly"]["cpu_s"] / one.windows
            yield table.claim(f"assembling {one.windows} tiles: CPU ms each", each_ms, ASSEMBLY_MS)
        if one.windows >= MEMORY_WINDOWS:
            peak_mib = one.flow.peak_bytes / (1 << 20)
            text = f"peak memory of the flow of {one.windows} windows: MiB"
            yield table.claim(text, peak_mib, MEMORY_MIB)


if __name__ == "__main__":
    sys.exit(main())

"""What cost against size comes to, as Markdown: costs by size, their curves, the promises.

A curve is fitted in logarithms: its exponent is the slope of log cost over log windows by least
squares over all sizes, and ``last`` is the slope of the last step alone, from the largest size
but one to the largest. Fixed costs make the first look small, so a curve keeps to its limit only
where both do. What takes less than a millisecond counts as one. Of the
Prefect server's CPU what it takes when nobody asks it is taken off, which grows with time alone.
"""

import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version

from bench import table
from bench.curves import LINEAR, Curve
from bench.measure import Cost

STAGES = ("plan", "commit", "count", "gap check", "assembly", "no-op rerun")
RERUN_S, RERUN_WINDOWS = 2.0, 10_000
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


def lines(start: Measured, found: Sequence[Measured]) -> Iterator[str]:
    """Everything."""
    names = ("prefect", "sqlalchemy", "numpy")
    versions = ", ".join(f"{name} {version(name)}" for name in names)
    yield f"Python {platform.python_version()}, {os.cpu_count()} cores, {versions}."
    yield ""
    yield "| stage | windows | CPU s | wall s | peak MB | requests |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: |"
    for one in found:
        yield from _costs(one)
    yield ""
    yield f"| exponent (limit {LINEAR}) of | all sizes | last step | kept |"
    yield "| --- | ---: | ---: | --- |"
    for curve in curves(found):
        kept = "yes" if curve.is_linear else "**no**"
        yield f"| {curve.name} | {curve.exponent:.3f} | {curve.last:.3f} | {kept} |"
    yield ""
    yield "| promise | measured | limit | kept |"
    yield "| --- | ---: | ---: | --- |"
    yield from promises(start, found)


def _costs(one: Measured) -> Iterator[str]:
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
    """CPU, wall, memory and requests of each stage; of the flow, with all it does; the server."""
    sizes = [one.windows for one in found]

    def curve(name: str, costs: Sequence[float]) -> Curve:
        return Curve(name, sizes, costs)

    for name in STAGES:
        took = [one.stages[name] for one in found]
        yield curve(f"{name}: CPU", [one["cpu_s"] for one in took])
        yield curve(f"{name}: wall", [one["wall_s"] for one in took])
        yield curve(f"{name}: peak memory", [one["peak_bytes"] / table.MB for one in took])
        yield curve(f"{name}: requests", [one["requests"] for one in took])
    yield curve("flow, whole: CPU", [one.flow.cpu_s for one in found])
    yield curve("flow, whole: wall", [one.flow.wall_s for one in found])
    yield curve("flow, whole: peak memory", [one.flow.peak_bytes / table.MB for one in found])
    yield curve("no-op command, whole: CPU", [one.rerun.cpu_s for one in found])
    yield curve("Prefect's server: CPU", [one.server_s for one in found])


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

"""What the measured costs say: the table, the promises, the engine's stages."""

import argparse
import os
import platform
from collections.abc import Iterator, Sequence
from importlib.metadata import version

from bench import table
from bench.cases import Beside
from bench.measure import Cost
from bench.places import LANDSAT

GDAL = "GDAL COG"
GDAL_2 = "GDAL COG, 2 threads"
GDAL_TILES = "GDAL COG of the tiles"
FLOW = "scenemosaic process"
ENGINE = "engine without Prefect"
ASSEMBLE = "assembly alone"
CP = "cp of the mosaic"
RIO = "rio cogeo create"


def heading(options: argparse.Namespace) -> Iterator[str]:
    """What was run on what, for the top of the report."""
    scene = " of real Landsat pixels" if options.scene == LANDSAT else ""
    yield f"# {options.size} x {options.size} x {options.bands} {options.dtype}{scene}"
    yield ""
    names = ("prefect", "rasterio", "rio-cogeo", "imagecodecs", "numpy")
    versions = ", ".join(f"{name} {version(name)}" for name in names)
    ours = "the library that each tile chooses" if options.level is None else str(options.level)
    yield f"Windows of {options.window}, blocks of 512, average; two workers. Deflate: ours by "
    yield f"level {ours}, GDAL's at its level 6. " if options.level else f"{ours}, GDAL's level 6. "
    yield f"{options.runs} rounds, median (least). Ratios are medians over rounds. "
    yield f"Python {platform.python_version()}, {os.cpu_count()} cores, {versions}."
    yield ""


def promises(
    measured: table.Costs, turns: Beside, *, landsat: bool, by_level: bool
) -> Iterator[str]:
    """Each limit that the project sets itself, and whether this run kept it.

    ``landsat``: the scene is of real pixels, for which the limits are narrower. ``by_level``:
    a level was asked for, which is a promise on bytes.
    """

    def cpu(cost: Cost) -> float:
        return cost.cpu_s

    gdal = measured[GDAL]
    shares = [_without_import(cost) for cost in measured[ENGINE]]
    yield ""
    yield "| promise | ratio | limit | kept |"
    yield "| --- | ---: | ---: | --- |"
    text = "engine's share (plan, windows, assembly): CPU to GDAL's COG driver"
    yield table.claim(text, table.ratio(shares, gdal, cpu), 0.85)
    if FLOW in measured:
        text = "the whole flow process: CPU to GDAL's COG driver"
        yield table.claim(text, table.ratio(measured[FLOW], gdal, cpu), 0.5 if landsat else 0.85)
        size = table.ratio(measured[FLOW], gdal, lambda cost: cost.out_bytes)
        yield table.claim("the same: bytes to GDAL's COG driver", size, 1.0 if by_level else 1.03)
    text = "assembly alone, its process whole: CPU to GDAL's COG driver of the same tiles"
    yield table.claim(text, table.ratio(measured[ASSEMBLE], measured[GDAL_TILES], cpu), 0.1)
    text = "assembly alone, imports left out: wall to `cp` of the same bytes"
    yield table.claim(text, turns.ratio("assembly", "cp"), 1.3)


def beside(turns: Beside) -> Iterator[str]:
    """Assembly and ``cp`` turn by turn, with and without what ``fsync`` takes."""
    yield ""
    yield "| turn by turn in one process | assembly: wall s | `cp`: wall s | ratio |"
    yield "| --- | ---: | ---: | ---: |"
    for text, more in (("later turns", ""), ("later turns, with fsync of the file", " and fsync")):
        names = f"assembly{more}", f"cp{more}"
        spreads = " | ".join(turns.spread(name) for name in names)
        yield f"| {text} | {spreads} | {turns.ratio(*names):.2f} |"
    first = turns.first["assembly"], turns.first["cp"]
    text = "first turn, libraries being imported"
    yield f"| {text} | {first[0]:.3f} | {first[1]:.3f} | {first[0] / first[1]:.2f} |"


def _without_import(cost: Cost) -> Cost:
    stages = [took for name, took in cost.told["stages"].items() if name != "import"]
    cpu_s = sum(took["cpu_s"] for took in stages)
    wall_s = sum(took["wall_s"] for took in stages)
    return Cost(cpu_s, wall_s, cost.peak_bytes)


def stages(runs: Sequence[Cost]) -> Iterator[str]:
    """Where the engine's time goes."""
    yield ""
    yield "| engine's stage | CPU s | wall s |"
    yield "| --- | ---: | ---: |"
    for name in runs[0].told["stages"]:
        took = [cost.told["stages"][name] for cost in runs]
        cpu = table.spread([stage["cpu_s"] for stage in took])
        yield f"| {name} | {cpu} | {table.spread([stage['wall_s'] for stage in took])} |"

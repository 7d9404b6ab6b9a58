"""One command, one run: scenemosaic beside GDAL's COG driver, rio-cogeo and cp.

Cases are interleaved and repeated, and ratios are taken within a round, since a
shared processor changes its speed from minute to minute.
"""

import argparse
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

from bench import cases, orchestration, report, results, table
from bench.committed import Committed
from bench.measure import Cost, measure
from bench.places import LANDSAT, MADE, make_scene, place_of, say
from bench.server import prefect_server

TURNS = 9


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; prints Markdown to stdout and progress to stderr."""
    options = _options(arguments)
    scratch = Path(options.scratch) if options.scratch else None
    if scratch:
        scratch.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="scenemosaic-bench-", dir=scratch))
    measured = orchestration.report if options.orchestration else _report
    try:
        lines = list(measured(options, folder))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    text = "\n".join(lines) + "\n"
    print(text, end="")
    if options.write:
        # The part has a title of its own there.
        results.write(options.write, [line for line in lines if not line.startswith("# ")])
    return 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--size", type=int, default=8192, help="the scene's edge in pixels")
    parser.add_argument(
        "--orchestration", action="store_true",
        help="measure only what Prefect costs beside the engine; with --size 40960 (40 GB of disk)"
        " 400 windows. Of 10,000 tiny windows besides",
    )  # fmt: skip
    parser.add_argument(
        "--tiny-scratch", metavar="DIR", help="folder for the tiny windows, such as one in memory"
    )
    parser.add_argument("--bands", type=int, default=3)
    parser.add_argument("--dtype", default="uint16", choices=["uint16", "float32"])
    parser.add_argument("--window", type=int, default=2048)
    parser.add_argument("--level", type=int, help="of deflate; left out, our own choice a tile")
    parser.add_argument("--runs", type=int, default=3, help="rounds of all cases")
    parser.add_argument(
        "--memory", default="", metavar="SIZES",
        help="compare assembly's peak memory, such as 4096,16384",
    )  # fmt: skip
    parser.add_argument("--no-flow", action="store_true", help="leave Prefect out")
    parser.add_argument("--no-rio", action="store_true", help="leave rio-cogeo out: it is slow")
    parser.add_argument(
        "--scene", default=MADE, choices=[MADE, LANDSAT],
        help="made up, or a real band repeated and mirrored (where ../shared/scenes is)",
    )  # fmt: skip
    parser.add_argument("--scratch", help="folder for scratch files (some GB)")
    parser.add_argument("--write", metavar="PART", help="also replace this part of RESULTS.md")
    return parser.parse_args(arguments)


def _report(options: argparse.Namespace, folder: Path) -> Iterator[str]:
    place = place_of(options, folder)
    yield from report.heading(options)
    committed = cases.commit(place, place.scene, "committed")
    work = _engine_cases(options, place, committed)
    with ExitStack() as stack:
        served: list[float] = []
        if not options.no_flow:
            server = stack.enter_context(prefect_server(folder / "server"))
            flow, served = cases.flow(place, server, report.FLOW)
            work.insert(0, flow)
        measured = _rounds(options.runs, work)
    beside = cases.beside_cp(place, committed, TURNS)
    yield from table.costs(measured, report.GDAL)
    if served:
        yield ""
        yield f"The Prefect server was running already; its own CPU: {table.spread(served)} s."
    kinds = {"landsat": options.scene == LANDSAT, "by_level": options.level is not None}
    yield from report.promises(measured, beside, **kinds)
    yield from report.beside(beside)
    yield from report.stages(measured[report.ENGINE])
    if not options.no_flow:
        yield from _first_window(place, measured[report.FLOW])
    if options.memory:
        yield from _memory(options, place)


def _engine_cases(
    options: argparse.Namespace, place: cases.Place, committed: Committed
) -> list[cases.Case]:
    mosaic = cases.assembled(place, committed)
    vrt = cases.tiles_vrt(place, committed)
    return [
        cases.gdal(place, report.GDAL, place.scene, 1),
        cases.engine(place, report.ENGINE),
        cases.gdal(place, report.GDAL_2, place.scene, 2),
        cases.assembly(place, committed, report.ASSEMBLE),
        cases.cp(place, report.CP, mosaic),
        cases.gdal(place, report.GDAL_TILES, vrt, 1),
        *([] if options.no_rio else [cases.rio_cogeo(place, report.RIO)]),
    ]


def _rounds(runs: int, work: Sequence[cases.Case]) -> dict[str, list[Cost]]:
    measured: dict[str, list[Cost]] = {case.name: [] for case in work}
    for number in range(1, runs + 1):
        for case in work:
            cost = case.run()
            measured[case.name].append(cost)
            say(f"{number}/{runs} {case.name}: {cost.cpu_s:.2f} s CPU, {cost.wall_s:.2f} s wall")
    return measured


def _first_window(place: cases.Place, running: Sequence[Cost]) -> Iterator[str]:
    alone, _ = cases.flow(place, None, "without a server")
    fresh, again = alone.run(), alone.run()
    yield ""
    yield "| from command to first window | s |"
    yield "| --- | ---: |"
    yield f"| a Prefect server is running | {_first([cost.first_s for cost in running])} |"
    yield f"| none: a temporary one, its first start ever | {_first([fresh.first_s])} |"
    yield f"| none: a temporary one, a later start | {_first([again.first_s])} |"


def _first(seconds: Sequence[float | None]) -> str:
    return table.spread([value for value in seconds if value is not None])


def _memory(options: argparse.Namespace, place: cases.Place) -> Iterator[str]:
    yield ""
    yield "| assembly of | windows | peak MB | CPU s | wall s | wall s of `cp` | ratio |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"
    for size in (int(part) for part in options.memory.split(",")):
        scene = place.folder / f"scene-{size}.tif"
        make_scene(scene, size, options.bands, options.dtype, place.env)
        committed = cases.commit(place, scene, f"memory-{size}")
        scene.unlink()
        cost = cases.assembly(place, committed, "").run()
        beside = cases.beside_cp(place, committed, TURNS)
        shutil.rmtree(committed.root)
        windows = (-(-size // options.window)) ** 2
        yield (
            f"| {size} x {size} | {windows} | {cost.peak_bytes / table.MB:.0f} | {cost.cpu_s:.2f} "
            f"| {beside.spread('assembly')} | {beside.spread('cp')} "
            f"| {beside.ratio('assembly', 'cp'):.2f} |"
        )
    floor = measure([sys.executable, "-c", "import bench.engine"], place.env)
    yield f"| nothing (imports alone) | 0 | {floor.peak_bytes / table.MB:.0f} | | | | |"

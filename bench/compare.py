"""One table beside other tools: ``python -m bench.compare``.

For each scene and place the same mosaic by scenemosaic, GDAL's COG driver, ``rio cogeo create``,
odc-geo's ``save_cog_with_dask`` and ``rasterio.merge``: from the scene (writing of tiles
included) and from its tiles (excluded). On S3, a server of its own in memory, the others make
their file on the disk and boto3 uploads it, but odc-geo, which writes there itself; tiles are
read from there. Each cell is a process of its own: its CPU with its children's, its wall, its
largest process. A cell that fails says why. The Prefect server runs already.
"""

import argparse
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from importlib.metadata import version
from pathlib import Path

from bench import compare_table, results
from bench.cases import PYTHON
from bench.committed import Committed
from bench.compare_cells import Bench, Row, Scene
from bench.compare_places import S3, Local, s3_place
from bench.measure import run
from bench.places import make_scene, say
from bench.server import clean_env, prefect_server

KINDS = ("uint16x3", "float32x1")
SIZES = "8192,16384"


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; prints Markdown to stdout and progress to stderr."""
    options = options_of(arguments)
    started = time.monotonic()
    if options.scratch:
        Path(options.scratch).mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="scenemosaic-bench-", dir=options.scratch) as scratch:
        rows = list(_rows(options, Path(scratch)))
    lines = [*_heading(options), *compare_table.lines(rows)]
    print("\n".join(lines))
    if options.write:
        results.write("compare", lines)
    say(f"{(time.monotonic() - started) / 60:.0f} minutes")
    return 0


def options_of(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The options, ``sizes``, ``kinds`` and ``where`` as lists."""
    parser = argparse.ArgumentParser(prog="python -m bench.compare", description=__doc__)
    parser.add_argument("--sizes", default=SIZES, help="edges in pixels")
    parser.add_argument("--kinds", default=",".join(KINDS), help="type x bands")
    parser.add_argument("--where", default="local,s3")
    parser.add_argument("--window", type=int, default=2048)
    parser.add_argument("--runs", type=int, default=1, help="rounds of all cells of a scene")
    parser.add_argument(
        "--others-python", default=sys.executable,
        help="an interpreter with odc-geo, dask, xarray, rasterio and boto3 "
        "(python -m venv V; V/bin/pip install odc-geo[tiff] dask[array] boto3)",
    )  # fmt: skip
    parser.add_argument("--scratch", help="folder for scratch files (10 GB at 16384)")
    parser.add_argument("--write", action="store_true", help="into bench/RESULTS.md as well")
    options = parser.parse_args(arguments)
    options.sizes = [int(size) for size in options.sizes.split(",")]
    options.kinds, options.where = options.kinds.split(","), options.where.split(",")
    if not set(options.where) <= {"local", "s3"} or not set(options.kinds) <= set(KINDS):
        parser.error(f"kinds are {' and '.join(KINDS)}, places local and s3")
    return options


def _rows(options: argparse.Namespace, folder: Path) -> Iterator[Row]:
    base = clean_env(folder / "prefect") | {"XDG_CACHE_HOME": str(folder / "cache")}
    with prefect_server(folder / "server") as server:
        prefect = server.api_url, server.group
        for size in options.sizes:
            for kind in options.kinds:
                work = folder / f"{size}-{kind}"
                work.mkdir()
                scene = Scene(work / "scene.tif", size, kind, options.window)
                dtype, _, bands = kind.partition("x")
                make_scene(scene.path, size, int(bands), dtype, base)
                yield from _scene_rows(options, scene, base, prefect)
                shutil.rmtree(work)


def _scene_rows(
    options: argparse.Namespace, scene: Scene, base: Mapping[str, str], prefect: tuple[str, int]
) -> Iterator[Row]:
    folder, groups = scene.path.parent, (prefect[1],)
    local, mosaic = _commit(scene, folder / "committed", base)
    for name in options.where:
        with ExitStack() as stack:
            place: Local | S3 = Local(folder, base, groups)
            if name == "s3":
                place = stack.enter_context(s3_place(folder, base, groups))
            bench = Bench(scene, place, prefect[0], options.others_python, local, mosaic)
            for _ in range(options.runs):
                yield from bench.cells()


def _commit(scene: Scene, root: Path, env: Mapping[str, str]) -> tuple[Committed, Path]:
    """The scene's tiles and rows, and what their mosaic is; unmeasured."""
    engine, window = [PYTHON, "-m", "bench.engine"], ["--window", str(scene.window)]
    told = run([*engine, "commit", str(scene.path), str(root), *window], env)
    saved = root.with_name("manifest")
    saved.mkdir()
    for path in root.glob("manifest.db*"):
        shutil.copyfile(path, saved / path.name)
    committed = Committed.found(root, told["job_id"], saved)
    run([*engine, "assemble", committed.job_id, str(root), *window], env)
    return committed, committed.mosaic.rename(root.with_name("mosaic.tif"))


def _heading(options: argparse.Namespace) -> Iterator[str]:
    names = ("prefect", "rasterio", "rio-cogeo", "numpy", "boto3")
    versions = ", ".join(f"{name} {version(name)}" for name in names)
    yield f"Windows of {options.window}, blocks of 512, average; deflate: ours by the library that"
    yield "each tile chooses, the others' level 6. Ours and odc-geo on two threads, the others on "
    yield f"one. {options.runs} round(s), medians. Python {platform.python_version()}, "
    yield f"{os.cpu_count()} cores, {versions}; {_others(options.others_python)}."
    yield ""


def _others(python: str) -> str:
    """What the other interpreter has, in a few words."""
    code = (
        "from importlib.metadata import version as v\n"
        "print(', '.join(f'{n} {v(n)}' for n in ('odc-geo', 'dask', 'rasterio')))"
    )
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
    return f"the other interpreter: {done.stdout.strip() or 'no odc-geo'}"


if __name__ == "__main__":
    sys.exit(main())

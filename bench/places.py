"""Where a bench works, and the scene that it works on, made by a child process."""

import argparse
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from bench.cases import Place
from bench.measure import run
from bench.server import clean_env

MADE, LANDSAT = "made", "landsat"
LANDSAT_BAND = Path(__file__).parents[2] / "shared" / "scenes" / "landsat8_b2_strips_u16.tif"


def place_of(options: argparse.Namespace, folder: Path, *, mask: bool = False) -> Place:
    """The place that the options say, with its scene made, with a ``mask`` of its own if asked."""
    env = clean_env(folder / "prefect") | {"XDG_CACHE_HOME": str(folder / "cache")}
    predictor = 3 if options.dtype.startswith("float") else 2
    place = Place(folder, folder / "scene.tif", options.window, predictor, env, options.level)
    source = landsat_band() if options.scene == LANDSAT else None
    size, bands, dtype = options.size, options.bands, options.dtype
    make_scene(place.scene, size, bands, dtype, env, source, mask=mask)
    return place


def landsat_band() -> Path:
    """A real band to repeat; it lies beside this checkout, not in it."""
    if not LANDSAT_BAND.exists():
        raise SystemExit(f"--scene {LANDSAT} needs {LANDSAT_BAND}: leave it out")
    return LANDSAT_BAND


def tiny_place(folder: Path, size: int, window: int) -> Place:
    """The same for a scene of windows of a single block of ``window`` pixels a side."""
    folder.mkdir(parents=True)
    env = clean_env(folder / "prefect") | {"XDG_CACHE_HOME": str(folder / "cache")}
    place = Place(folder, folder / "scene.tif", window, 2, env)
    make_scene(place.scene, size, 3, "uint16", env)
    return replace(place, block=window)


def make_scene(
    path: Path,
    size: int,
    bands: int,
    dtype: str,
    env: Mapping[str, str],
    source: Path | None = None,
    *,
    mask: bool = False,
) -> None:
    """A square scene at ``path``, made up, or of ``source`` repeated and mirrored.

    With an internal mask, where it is made up and that is asked for.
    """
    say(f"scene of {size} x {size} x {bands} {dtype}")
    command = [sys.executable, "-m", "bench.scene", str(path), "--size", str(size)]
    command += ["--mask"] if mask else []
    command += [] if source is None else ["--source", str(source)]
    run([*command, "--bands", str(bands), "--dtype", dtype], env)


def say(text: str) -> None:
    """A line for whoever waits."""
    print(text, file=sys.stderr, flush=True)

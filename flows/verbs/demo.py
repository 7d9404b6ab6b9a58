"""``scenemosaic demo``: a made-up scene, its mosaic, local files and SQLite alone."""

from pathlib import Path
from typing import Final

from flows.engines.limits import Limits, default_workers
from flows.scenes.stopwatch import Stopwatch
from flows.terminal.console import Console
from flows.terminal.progress import in_seconds
from flows.verbs.process import Request, process
from scenemosaic.errors import StoreError
from scenemosaic.job import PlanOptions
from scenemosaic.places import place_at

_ADVICE: Final = "free some space, or choose another folder with --to"


def demo(folder: Path, size: int, console: Console) -> int:
    """Make the scene where it is missing, then run ``process`` on it; the exit code."""
    scene = folder.absolute() / f"scene-{size}.tif"
    _make(scene, size, console)
    limits = Limits(default_workers())
    return process(Request((str(scene),), place_at(str(folder)), PlanOptions(), limits), console)


def _make(scene: Path, size: int, console: Console) -> None:
    # Only now: numpy and GDAL are slow to import.
    from flows.verbs.demo_scene import make_scene

    watch, progress = Stopwatch(), console.progress()
    try:
        with watch.stage(f"making a scene of {size} x {size} pixels", progress):
            made = make_scene(scene, size, progress.copied_rows)
    except OSError as error:
        # GDAL's own "see previous exception" is that one.
        said = error.strerror or error.__cause__ or error
        raise StoreError(f"{scene}: cannot be written ({said}); {_ADVICE}") from error
    finally:
        progress.close()
    progress.say(
        f"scene    {scene} {f'({in_seconds(watch.seconds)})' if made else 'was there already'}"
    )

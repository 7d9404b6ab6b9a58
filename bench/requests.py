"""What a reader asks of a mosaic and of GDAL's own COG over HTTP: ``python -m bench.requests``.

Both are made of the same scene with the same blocks, codec, level and resampling, and read
by rasterio through ``/vsicurl/``, each read in a process of its own.
"""

import argparse
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench import cases
from bench.cases import PYTHON, Place
from bench.measure import run
from bench.places import LANDSAT, MADE, place_of, say
from bench.web import Site, serving

READS = (
    "opening",
    "full read",
    "full read by windows of 2048",
    "overview of 1/8",
    "window of 512",
    "window of 1500 across tiles",
)
# The second is what every guide to COGs over HTTP says to set.
SETTINGS: Mapping[str, Mapping[str, str]] = {
    "defaults": {},
    "no listing": {"GDAL_DISABLE_READDIR_ON_OPEN": "EMPTY_DIR"},
}
OURS, GDALS = "ours.tif", "gdals.tif"


@dataclass(frozen=True)
class Asked:
    """How often a read asked, and for how many bytes."""

    requests: int
    size_bytes: int


@dataclass(frozen=True)
class Line:
    """One read with one setting, of both files."""

    setting: str
    read: str
    ours: Asked
    gdals: Asked


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; prints Markdown to stdout and progress to stderr."""
    options = options_of(arguments)
    with tempfile.TemporaryDirectory(prefix="scenemosaic-requests-", dir=options.scratch) as made:
        place = place_of(options, Path(made), mask=options.mask)
        with serving(files(place)) as site:
            lines = list(measured(site, place.env, masked=options.mask))
    print("\n".join(report(options, lines)))
    return 0


def options_of(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The options, as :func:`bench.places.place_of` takes them."""
    parser = argparse.ArgumentParser(prog="python -m bench.requests", description=__doc__)
    parser.add_argument("--size", type=int, default=8192, help="the scene's edge in pixels")
    parser.add_argument("--bands", type=int, default=3)
    parser.add_argument("--dtype", default="uint16", choices=["uint16", "float32"])
    parser.add_argument("--window", type=int, default=2048)
    parser.add_argument("--level", type=int, default=6, help="of deflate, for both")
    parser.add_argument("--scene", default=MADE, choices=[MADE, LANDSAT])
    parser.add_argument("--mask", action="store_true", help="a scene with a mask, read with it")
    parser.add_argument("--scratch", help="folder for scratch files (some GB)")
    options = parser.parse_args(arguments)
    if options.mask and options.scene == LANDSAT:
        parser.error(f"--scene {LANDSAT} has nodata and no mask: leave out --mask")
    return options


def files(place: Place) -> dict[str, Path]:
    """The mosaic and GDAL's COG of the place's scene."""
    committed = cases.commit(place, place.scene, "committed")
    ours = cases.assembled(place, committed)
    cases.gdal(place, "", place.scene, 2).run()
    return {OURS: ours, GDALS: place.out}


def measured(site: Site, env: Mapping[str, str], *, masked: bool) -> Iterator[Line]:
    """Each read with each setting."""
    for setting, extra in SETTINGS.items():
        for read in READS:
            how = [read, *(["--mask"] if masked else [])]
            ours, gdals = (_asked(site, how, name, {**env, **extra}) for name in (OURS, GDALS))
            say(f"{read}, {setting}: {ours.requests} requests, GDAL's {gdals.requests}")
            yield Line(setting, read, ours, gdals)


def _asked(site: Site, how: Sequence[str], name: str, env: Mapping[str, str]) -> Asked:
    site.forget()
    run([PYTHON, "-m", "bench.reading", *how, f"{site.url}/{name}"], env)
    return Asked(len(site.asked), site.size_bytes)


def report(options: argparse.Namespace, lines: Sequence[Line]) -> Iterator[str]:
    """The table, ours to GDAL's."""
    shape = f"{options.size} x {options.size} x {options.bands} {options.dtype}"
    mask = ", read with its mask" if options.mask else ""
    yield f"{shape}{mask}, windows of {options.window}, blocks of 512, deflate {options.level}."
    yield ""
    yield "| setting | read | requests: ours | GDAL's | ratio | MB: ours | GDAL's | ratio |"
    yield "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |"
    for line in lines:
        ours, gdals = line.ours, line.gdals
        yield (
            f"| {line.setting} | {line.read} "
            f"| {ours.requests} | {gdals.requests} | {ours.requests / gdals.requests:.2f} "
            f"| {ours.size_bytes / 1e6:.2f} | {gdals.size_bytes / 1e6:.2f} "
            f"| {ours.size_bytes / gdals.size_bytes:.2f} |"
        )


if __name__ == "__main__":
    main()

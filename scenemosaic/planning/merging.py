"""Several sources' headers become one, with how they are merged. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

import numpy as np

from scenemosaic.canonical import Number
from scenemosaic.compositing.boxes import Box
from scenemosaic.compositing.described import shared_of
from scenemosaic.compositing.placing import Placement, extent, placements
from scenemosaic.dtypes import is_complex
from scenemosaic.errors import InputError
from scenemosaic.grids.grid import Grid
from scenemosaic.planning.header import Header
from scenemosaic.planning.images import Named, check_together, computed_of, shared_metadata
from scenemosaic.planning.looked import named
from scenemosaic.planning.target import check_grid_options
from scenemosaic.plans.plan import PlanOptions
from scenemosaic.recipes.merge import METHODS, ORDERED, WARPS, Merge
from scenemosaic.recipes.recipe_rules import LOSSY, check_choice

MAX_SOURCES: Final = 65535
_AVERAGING: Final = ("mean", "median")
_CLASS_WARPS: Final = ("nearest", "mode")
_WIDE: Final = ("int64", "uint64")
_UNIT: Final = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0)


@dataclass(frozen=True, slots=True)
class Merged:
    """The mosaic's header and merge, and which of the sources (ascending numbers) touch it."""

    image: Header
    merge: Merge
    touching: tuple[int, ...]


def is_merged(count: int, options: PlanOptions) -> bool:
    """Whether the mosaic is more than its one source as it stands."""
    asked = (options.crs, options.resolution, options.bounds, options.method)
    return count > 1 or any(one is not None for one in (*asked, options.warp_resampling))


def check_merge_options(options: PlanOptions) -> None:
    """What can be seen without a source."""
    check_grid_options(options)
    if options.method is not None:
        check_choice("--method", options.method, METHODS)
    if options.warp_resampling is not None:
        check_choice("--warp-resampling", options.warp_resampling, WARPS)


def is_ordered(options: PlanOptions) -> bool:
    """Whether the order of the sources decides pixels."""
    return (options.method or ORDERED[0]) in ORDERED


def merge_images(
    sources: Sequence[Named], options: PlanOptions, notes: list[str], grid: Grid
) -> Merged:
    """What the sources make together on ``grid``, in the plan's order.

    Raises InputError, naming sources, where they do not go together or the options do not
    suit them.
    """
    method = options.method or ORDERED[0]
    check_together(sources)
    image = sources[0].image
    _check_method(method, image, options, len(sources))
    places = [named(one.name, partial(placements, grid, one.image.grid)) for one in sources]
    touching = tuple(number for number, found in enumerate(places) if found)
    _check_touching(sources, touching, grid, notes)
    warp = _warp([(sources[n], places[n]) for n in touching], image, options, notes)
    kept = [sources[number] for number in touching]
    nodata, has_mask = _holes(kept, [places[n] for n in touching], grid, options, notes)
    together = replace(
        image,
        grid=grid,
        nodata=nodata,
        has_mask=has_mask,
        nbits=_nbits(kept, notes),
        metadata=shared_metadata(kept, notes),
        computed=computed_of(kept),
    )
    merged = _described(_counted(together) if method == "count" else together)
    return Merged(merged, Merge(shared_of(merged.metadata), method, warp), touching)


def _described(image: Header) -> Header:
    """The image with its own grid and nodata in its metadata."""
    metadata = replace(
        image.metadata,
        crs_wkt=image.grid.crs_wkt,
        transform=image.grid.transform,
        nodata=None if image.nodata is None else float(image.nodata),
    )
    return replace(image, metadata=metadata)


def _check_method(method: str, image: Header, options: PlanOptions, count: int) -> None:
    if count > MAX_SOURCES:
        raise InputError(f"{count} sources are too many for one mosaic (at most {MAX_SOURCES})")
    classes = options.categorical or image.has_palette
    if classes and method in _AVERAGING:
        raise InputError(f"--method {method} would mix classes: take first, last, min or max")
    if is_complex(image.dtype) and method in ("min", "max", "median"):
        raise InputError(f"--method {method} needs an order, which {image.dtype} has not")
    if image.dtype in _WIDE and method == "mean":
        raise InputError(f"a mean of {image.dtype} is not exact: take median, or --dtype float64")


def _check_touching(
    sources: Sequence[Named], touching: tuple[int, ...], grid: Grid, notes: list[str]
) -> None:
    if not touching:
        first = sources[0]
        box = extent(_UNIT, grid.crs_wkt, first.image.grid)
        raise InputError(
            f"no source touches --bounds (west,south,east,north in the CRS's units): {first.name} "
            f"lies at {','.join(f'{value:g}' for value in box)}"
        )
    away = [source.name for n, source in enumerate(sources) if n not in set(touching)]
    if away:
        more = f" and {len(away) - 1} more" if len(away) > 1 else ""
        notes.append(f"{away[0]}{more} lie outside the mosaic, and are left out")


def _warp(
    placed: Sequence[tuple[Named, tuple[Placement, ...]]],
    image: Header,
    options: PlanOptions,
    notes: list[str],
) -> str | None:
    """The kernel, or None where nothing is off the grid."""
    off = [source for source, found in placed if any(one.offset is None for one in found)]
    classes = options.categorical or image.has_palette
    asked = options.warp_resampling
    if classes and asked is not None:
        check_choice("--warp-resampling of classes", asked, _CLASS_WARPS)
    if not off:
        return None
    raw = {source.image.dtype for source in off}
    if raw & set(_WIDE):
        raise InputError(
            f"{off[0].name}: it is off the mosaic's grid, and {image.dtype} is not resampled "
            "exactly: bring it to the grid first"
        )
    if is_complex(image.dtype) and asked not in (None, "nearest"):
        raise InputError(f"--warp-resampling of {image.dtype} is nearest alone, not {asked}")
    exact = classes or is_complex(image.dtype) or image.nbits == 1
    kernel = asked or ("nearest" if exact else "bilinear")
    which = (
        "the source lies"
        if len(placed) == 1
        else f"{len(off)} of {len(placed)} sources {'lies' if len(off) == 1 else 'lie'}"
    )
    notes.append(f"{which} off the mosaic's grid, as {off[0].name} does: resampled by {kernel}")
    return kernel


def _holes(
    sources: Sequence[Named],
    places: Sequence[tuple[Placement, ...]],
    grid: Grid,
    options: PlanOptions,
    notes: list[str],
) -> tuple[Number | None, bool]:
    """What says that no source has a value: (nodata, has_mask)."""
    values = [source.image.nodata for source in sources if source.image.nodata is not None]
    masked = any(source.image.has_mask for source in sources)
    if values and options.compress not in LOSSY:
        if len({repr(value) for value in values}) > 1 or len(values) < len(sources):
            notes.append(
                f"the sources do not have the same nodata: {values[0]:g} is the mosaic's, and a "
                "valid pixel of that value gets the next one, so that it stays valid"
            )
        return values[0], False
    if values or masked:
        return None, True
    if "alpha" in sources[0].image.colorinterp:
        return None, False
    if _is_filled(grid, places):
        return None, False
    notes.append(
        "the sources do not fill the mosaic and have no nodata: it gets a mask (--nodata gives a "
        "value instead)"
    )
    return None, True


def _is_filled(grid: Grid, places: Sequence[tuple[Placement, ...]]) -> bool:
    """Whether the sources that are copied cover every pixel."""
    boxes = [one.box for found in places for one in found if one.offset is not None]
    image = Box(0, 0, grid.height, grid.width)
    if image in boxes:
        return True
    ys = np.unique([0, grid.height, *(y for box in boxes for y in (box.y0, box.y1))])
    xs = np.unique([0, grid.width, *(x for box in boxes for x in (box.x0, box.x1))])
    covered = np.zeros((len(ys) - 1, len(xs) - 1), np.bool_)
    for box in boxes:
        rows = slice(*np.searchsorted(ys, (box.y0, box.y1)))
        covered[rows, slice(*np.searchsorted(xs, (box.x0, box.x1)))] = True
    return bool(covered.all())


def _nbits(sources: Sequence[Named], notes: list[str]) -> int | None:
    found = {source.image.nbits for source in sources}
    if len(found) > 1:
        notes.append("the sources have samples of different bits: all are written whole")
        return None
    return next(iter(found))


def _counted(image: Header) -> Header:
    """How many sources have a value: a number of its own kind."""
    metadata = replace(
        image.metadata,
        tags=(),
        band_tags=((),),
        descriptions=("number of sources",),
        units=("",),
        scales=(1.0,),
        offsets=(0.0,),
        colorinterp=("gray",),
        colormaps=(None,),
    )
    return replace(
        image,
        dtype="uint16",
        bands=1,
        nodata=None,
        has_mask=False,
        interleave="pixel",
        nbits=None,
        metadata=metadata,
    )

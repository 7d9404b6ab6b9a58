"""A window of several sources: only those that touch it are opened, in the plan's order."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from scenemosaic.compositing.boxes import CELL_PX, Box
from scenemosaic.compositing.layers import Located, alpha_of, read_layer
from scenemosaic.compositing.methods import method_of
from scenemosaic.compositing.placing import Placement, placements
from scenemosaic.dtypes import ITEM_SIZES, is_integer
from scenemosaic.errors import ComputationError, InputError
from scenemosaic.grids.grid import Window
from scenemosaic.plans.plan import Plan
from scenemosaic.recipes.merge import Merge
from scenemosaic.recipes.recipe import Recipe

Pixels = npt.NDArray[Any]
Mask = npt.NDArray[np.uint8]
Valid = npt.NDArray[np.bool_]
# What a median may hold of all its layers at once.
_MEDIAN_BYTES: Final = 256 << 20


@dataclass(frozen=True, slots=True)
class Composite:
    """Pixels (bands, height, width), mask (height, width), and the sources that were read."""

    pixels: Pixels
    mask: Mask | None
    read: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Touch:
    """A source, by its number in the plan, at one place."""

    number: int
    placement: Placement


@dataclass(frozen=True, slots=True)
class _Key:
    job_id: str
    plan: Plan = field(compare=False)


def touching(plan: Plan, box: Box) -> tuple[int, ...]:
    """The numbers of the sources that may have a pixel in a box of the mosaic, ascending."""
    return tuple(dict.fromkeys(touch.number for touch in _touching(plan, box)))


def composite(plan: Plan, locations: tuple[str, ...], window: Window) -> Composite:
    """The pixels of a box of the mosaic, which ``window`` is.

    Raises SourceReadError where one of the sources that are needed does not decode there,
    ComputationError where a pixel has no value, and the mosaic cannot say so.
    """
    box = Box(window.y0, window.x0, window.y1, window.x1)
    recipe, read = plan.recipe, set[int]()
    pixels = np.empty((recipe.bands, box.height, box.width), recipe.dtype)
    known = np.empty(pixels.shape, np.bool_)
    for part in _parts(plan, _touching(plan, box), box):
        inside = part.inside(box)
        method = method_of(_merge(recipe).method, part, recipe.bands, recipe.dtype)
        for touch in _in_order(plan, part):
            meets = touch.placement.box.meets(part)
            if meets is None or not method.wants(meets):
                continue
            read.add(touch.number)
            source = _located(plan, locations, touch.number)
            layer = read_layer(source, touch.placement, recipe, part, window, method.wants)
            if layer is not None:
                method.add(layer)
        pixels[:, *inside], known[:, *inside] = method.result()
    if not known.all() and not _can_be_empty(recipe):
        raise ComputationError(
            f"window {window.name}: a pixel has no value (not a number, or a division by zero, "
            "say), and the mosaic has no nodata to say so: give --nodata"
        )
    pixels, mask = _settled(pixels, known, recipe)
    return Composite(pixels, mask, tuple(sorted(read)))


def _can_be_empty(recipe: Recipe) -> bool:
    """Whether a pixel of the mosaic can say that no source has a value there."""
    said = recipe.nodata is not None or recipe.has_mask or alpha_of(recipe) is not None
    return said or not is_integer(recipe.dtype)


def _merge(recipe: Recipe) -> Merge:
    if recipe.merge is None:
        raise InputError("the recipe does not say how sources are merged")
    return recipe.merge


def _in_order(plan: Plan, part: Box) -> list[_Touch]:
    touches = _touching(plan, part)
    return touches[::-1] if _merge(plan.recipe).method == "last" else touches


def _located(plan: Plan, locations: tuple[str, ...], number: int) -> Located:
    return Located(locations[number], plan.sources[number], plan.grids[number])


def _touching(plan: Plan, box: Box) -> list[_Touch]:
    touches, boxes = _placed(_Key(plan.job_id, plan))
    if not touches:
        return []
    y0, x0, y1, x1 = boxes.T
    found = (y0 < box.y1) & (y1 > box.y0) & (x0 < box.x1) & (x1 > box.x0)
    return [touches[at] for at in np.flatnonzero(found)]


@lru_cache(maxsize=8)
def _placed(key: _Key) -> tuple[list[_Touch], npt.NDArray[np.int64]]:
    """Where all sources lie, from the plan alone."""
    grid = key.plan.recipe.grid
    touches = [
        _Touch(number, placement)
        for number, source in enumerate(key.plan.grids)
        for placement in placements(grid, source)
    ]
    boxes = [touch.placement.box for touch in touches]
    corners = [(box.y0, box.x0, box.y1, box.x1) for box in boxes]
    return touches, np.array(corners, np.int64).reshape(-1, 4)


def _parts(plan: Plan, touches: list[_Touch], box: Box) -> Iterator[Box]:
    """The box, or pieces of it along the lattice where a median would hold too much."""
    recipe = plan.recipe
    if _merge(recipe).method != "median":
        yield box
        return
    pixel = len(touches) * (ITEM_SIZES[recipe.dtype] + 1) * recipe.bands
    side = math.isqrt(_MEDIAN_BYTES // max(pixel, 1)) // CELL_PX * CELL_PX
    side = max(side, CELL_PX)
    for y in range(box.y0 // side * side, box.y1, side):
        for x in range(box.x0 // side * side, box.x1, side):
            part = Box(y, x, y + side, x + side).meets(box)
            if part is not None:
                yield part


def _settled(pixels: Pixels, known: Valid, recipe: Recipe) -> tuple[Pixels, Mask | None]:
    """Nodata, zero or transparency where no source has a value; a mask that says so."""
    if recipe.nbits is not None:  # cubic and lanczos overshoot
        np.minimum(pixels, 2**recipe.nbits - 1, out=pixels)
    if recipe.nodata is not None:
        _keep_apart(pixels, known, recipe)
    if not known.all():
        np.copyto(pixels, _filled(pixels.shape, recipe), where=~known)
    if not recipe.has_mask:
        return pixels, None
    return pixels, np.where(known.any(axis=0), 255, 0).astype(np.uint8)


def _filled(shape: tuple[int, ...], recipe: Recipe) -> Pixels:
    """An image of no value at all."""
    fill: Any = 0 if recipe.nodata is None else recipe.nodata
    if recipe.nodata is None and not recipe.has_mask and not is_integer(recipe.dtype):
        fill = math.nan
    pixels = np.full(shape, fill, recipe.dtype)
    if (alpha := alpha_of(recipe)) is not None:
        pixels[alpha - 1] = 0
    return pixels


def _keep_apart(pixels: Pixels, known: Valid, recipe: Recipe) -> None:
    """A value that happens to be the mosaic's nodata becomes its neighbour, as in GDAL's warper."""
    nodata = recipe.nodata
    hit = known & (pixels == nodata)
    if nodata is None or not hit.any():
        return
    if not is_integer(recipe.dtype):
        there = pixels.real.dtype.type(nodata)
        last = there >= np.finfo(there.dtype).max  # beyond it is no finite number
        pixels[hit] = np.nextafter(there, there.dtype.type(-np.inf if last else np.inf))
        return
    most = np.iinfo(pixels.dtype).max if recipe.nbits is None else 2**recipe.nbits - 1
    pixels[hit] = nodata + 1 if nodata < most else nodata - 1

"""One source's part of a window: read or warped onto the grid, then its bands computed."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from scenemosaic.bandmath.program import Program, Target
from scenemosaic.canonical import Number
from scenemosaic.compositing.boxes import Box, cells
from scenemosaic.compositing.placing import Placement, turned
from scenemosaic.compositing.warping import ReadPart, Warp, pasted, source_box, warp_cell, warp_of
from scenemosaic.dtypes import ITEM_SIZES, is_complex
from scenemosaic.errors import InputError, SourceReadError
from scenemosaic.grids.grid import Grid, Window
from scenemosaic.plans.pin import Pin
from scenemosaic.recipes.recipe import Recipe
from scenemosaic.sources.computed_bands import computed, program_of
from scenemosaic.sources.locations import public_uri
from scenemosaic.sources.nodata import exact_nodata
from scenemosaic.sources.rasters import Part, read_part

Pixels = npt.NDArray[Any]
Valid = npt.NDArray[np.bool_]
Wants = Callable[[Box], bool]
# More of a source is not held at once, but read cell by cell.
_AHEAD_BYTES: Final = 192 << 20


@dataclass(frozen=True, slots=True)
class Located:
    """A source of a job."""

    location: str
    pin: Pin
    grid: Grid


@dataclass(frozen=True, slots=True)
class Layer:
    """What a source has in a box of the mosaic: pixels, and which of them it has a value for.

    Both are (bands, height, width); NaN is never a value.
    """

    box: Box
    pixels: Pixels
    valid: Valid


def read_layer(
    source: Located, placement: Placement, recipe: Recipe, box: Box, window: Window, wants: Wants
) -> Layer | None:
    """The source's part of ``box``, None where it has no value there that is wanted.

    ``window`` is the one that errors name; ``wants`` tells of a part of the box whether it can
    still change. Raises SourceReadError.
    """
    part = placement.box.meets(box)
    if part is None or not wants(part):
        return None
    reader = _Reader(source, window, _program(source, recipe))
    if placement.offset is not None:
        row, col = placement.offset
        pixels, valid = reader.read(part.moved(-row, -col))
    else:
        warped = _warped(reader, placement, recipe, part, wants)
        if warped is None:
            return None
        pixels, valid = warped
    pixels, valid = reader.computed(pixels, valid, recipe)
    return Layer(part, pixels, valid) if valid.any() else None


def valid_of(part: Part) -> Valid:
    """Where a source has values: (bands, height, width)."""
    pixels = part.pixels
    valid = np.ones(pixels.shape, np.bool_)
    if part.nodata is not None and part.nodata == part.nodata:
        valid &= pixels != part.nodata
    if pixels.dtype.kind in "fc":
        valid &= ~np.isnan(pixels)
    if part.mask is not None:
        valid &= part.mask != 0
    if part.alpha is not None:
        valid &= pixels[part.alpha - 1] != 0
    return valid


def _program(source: Located, recipe: Recipe) -> Program | None:
    """The source's band maths, in which a mask always says what has no value."""
    program = program_of(source.location, source.pin, recipe)
    if program is None:
        return None
    if recipe.merge is not None and recipe.merge.method == "count":
        return replace(program, target=Target("float64", np.nan, True))
    return replace(program, target=Target(recipe.dtype, _nodata(program, recipe), True))


def _nodata(program: Program, recipe: Recipe) -> Number | None:
    """What says in a source's computed bands that there is no value: not always the mosaic's.

    Bands that are only chosen keep their own, so that a value that is another source's nodata
    stays one.
    """
    own, computed = program.source.nodata, program.computed
    if own is None or computed.expressions or computed.unscale:
        return recipe.nodata
    try:
        return exact_nodata(recipe.dtype, float(own), None)
    except InputError:  # of a wider type
        return None


@dataclass(frozen=True, slots=True)
class _Reader:
    source: Located
    window: Window
    program: Program | None

    def pixel_bytes(self, recipe: Recipe) -> int:
        """What a pixel of the source takes at most, with what says where it has a value."""
        if self.program is not None:
            return len(self.program.read()) * (8 + 1)
        bands = 1 if recipe.merge is None or recipe.merge.method == "count" else recipe.bands
        return bands * (ITEM_SIZES[recipe.dtype] + 1)

    def read(self, box: Box) -> tuple[Pixels, Valid]:
        bands = None if self.program is None else self.program.read()
        part = read_part(self.source.location, _window(box, self.window), self.source.pin, bands)
        return part.pixels, valid_of(part)

    def computed(self, pixels: Pixels, valid: Valid, recipe: Recipe) -> tuple[Pixels, Valid]:
        program = self.program
        if program is None:
            return pixels, valid
        if program.source.nodata is not None:
            pixels = np.where(valid, pixels, pixels.dtype.type(program.source.nodata))
        if is_complex(str(pixels.dtype)):
            program = replace(program, target=Target(str(pixels.dtype), recipe.nodata, True))
        mask = np.where(valid.any(axis=0), 255, 0).astype(np.uint8)
        made, shown = computed(program, pixels, mask, self.source.location, self.window)
        nodata = program.target.nodata
        known = None if nodata is None else float(nodata)
        return made, valid_of(Part(made, shown, known, alpha_of(recipe)))


def alpha_of(recipe: Recipe) -> int | None:
    """The number of the mosaic's alpha band, from 1."""
    kinds = recipe.merge.shared.colorinterp if recipe.merge is not None else ()
    return kinds.index("alpha") + 1 if "alpha" in kinds else None


def _window(box: Box, window: Window) -> Window:
    """A box of a source under the name of the mosaic's window that it is read for."""
    return Window(window.row, window.col, box.y0, box.x0, box.y1, box.x1)


def _warped(
    reader: _Reader, placement: Placement, recipe: Recipe, part: Box, wants: Wants
) -> tuple[Pixels, Valid] | None:
    kernel = (recipe.merge.warp if recipe.merge is not None else None) or "nearest"
    source = turned(reader.source.grid, placement.turn)
    warp = warp_of(source, recipe.grid, kernel, reader.pixel_bytes(recipe))
    every = cells(part, recipe.grid.height, recipe.grid.width)
    whole = [cell for cell in every if (some := cell.meets(part)) is not None and wants(some)]
    read = _ahead(reader, [source_box(warp, cell) for cell in whole], warp.pixel_bytes)
    found = [(cell, _cell(reader, warp, cell, read)) for cell in whole]
    return pasted(part, [(cell, made) for cell, made in found if made is not None])


def _cell(reader: _Reader, warp: Warp, cell: Box, read: ReadPart) -> tuple[Pixels, Valid] | None:
    try:
        return warp_cell(warp, cell, read)
    except SourceReadError as error:
        name = public_uri(reader.source.location)
        if str(error).startswith(name):
            raise
        raise type(error)(f"{name}: window {reader.window.name}: {error}") from None


def _ahead(reader: _Reader, boxes: list[Box | None], pixel_bytes: int) -> ReadPart:
    """Reads what all cells need at once, where that is not much: blocks are decoded once."""
    known = [box for box in boxes if box is not None]
    if not known:
        return reader.read
    hull = Box(
        min(box.y0 for box in known),
        min(box.x0 for box in known),
        max(box.y1 for box in known),
        max(box.x1 for box in known),
    )
    if hull.pixels * pixel_bytes > _AHEAD_BYTES:
        return reader.read
    pixels, valid = reader.read(hull)

    def read(box: Box) -> tuple[Pixels, Valid]:
        inside = box.inside(hull)
        return pixels[:, *inside], valid[:, *inside]

    return read

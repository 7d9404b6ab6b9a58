"""Windows of one source as a recipe has them: its bands read, chosen and computed."""

import functools
from typing import Any

import numpy as np
import numpy.typing as npt

from scenemosaic.bandmath.apply import apply
from scenemosaic.bandmath.described import described, source_bands
from scenemosaic.bandmath.program import Program, Target
from scenemosaic.errors import ComputationError
from scenemosaic.grids.grid import Window
from scenemosaic.image_metadata import SourceMetadata
from scenemosaic.plans.pin import Pin
from scenemosaic.recipes.recipe import Recipe
from scenemosaic.sources.locations import public_uri
from scenemosaic.sources.metadata import metadata_of
from scenemosaic.sources.rasters import of_header, read_metadata, read_window

Pixels = npt.NDArray[Any]
Mask = npt.NDArray[np.uint8]


@functools.lru_cache(maxsize=64)
def program_of(location: str, pin: Pin, recipe: Recipe) -> Program | None:
    """What a job makes of one source's bands; None where it takes them as they are.

    Raises SourceReadError where the source's header cannot be read.
    """
    if recipe.computed is None:
        return None
    target = Target(recipe.dtype, recipe.nodata, recipe.has_mask)
    return Program(recipe.computed, source_bands(read_metadata(location)), target)


def described_metadata(location: str, recipe: Recipe) -> SourceMetadata:
    """The source's metadata as the recipe's bands have it. Raises SourceReadError."""
    if recipe.computed is None:
        return read_metadata(location)
    metadata, dtype = of_header(location, lambda dataset: (metadata_of(dataset), dataset.dtypes[0]))
    return described(metadata, recipe.computed, recipe.nodata, recipe.dtype == dtype)


def read_computed(
    location: str, window: Window, pin: Pin, recipe: Recipe
) -> tuple[Pixels, Mask | None]:
    """Like :func:`read_window`, with the recipe's band maths applied.

    Only the bands that it needs are read. Raises SourceReadError, and of it
    ComputationError where a result does not fit the mosaic's type.
    """
    program = program_of(location, pin, recipe)
    if program is None:
        return read_window(location, window, pin)
    pixels, mask = read_window(location, window, pin, program.read())
    return computed(program, pixels, mask, location, window)


def computed(
    program: Program, pixels: Pixels, mask: Mask | None, location: str, window: Window
) -> tuple[Pixels, Mask | None]:
    """:func:`apply`, whose errors name the source and the window."""
    try:
        return apply(program, pixels, mask)
    except ComputationError as error:
        raise ComputationError(f"{public_uri(location)}: window {window.name}: {error}") from None

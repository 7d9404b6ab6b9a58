"""A tile of nodata: what a waived window holds. It is encoded like any other."""

import numpy as np

from scenemosaic import keys
from scenemosaic.compositing.described import merged_template
from scenemosaic.errors import IncompleteError, InputError
from scenemosaic.grids.grid import Window
from scenemosaic.job_rows import row_of
from scenemosaic.mosaic.stitch import stored_tile
from scenemosaic.recipes.recipe import Recipe
from scenemosaic.repair.sources import find_sources
from scenemosaic.session import JobSpec, Session
from scenemosaic.sources.pins import verify_pin
from scenemosaic.tiff.ifd import BadTiff
from scenemosaic.tiff.layout import Template
from scenemosaic.tiff.template import alpha_band, template_from_header
from scenemosaic.tile import EncodedTile, encode_tile
from scenemosaic.windows import source_template


def nodata_tile(window: Window, recipe: Recipe, template: Template) -> EncodedTile:
    """The window filled with nodata, or with zeros; masked and transparent where it can be."""
    fill = 0 if recipe.nodata is None else recipe.nodata
    shape = (recipe.bands, window.height, window.width)
    pixels = np.full(shape, fill, np.dtype(recipe.dtype))
    if (alpha := alpha_band(template)) is not None:
        pixels[alpha - 1] = 0
    mask = np.zeros(shape[1:], np.uint8) if recipe.has_mask else None
    return encode_tile(pixels, mask, window, recipe, template)


def job_template(session: Session, spec: JobSpec) -> Template:
    """What all tiles of the job share: from its first window's tile, else from its source.

    Only that tile has the mosaic's own origin to the last bit. Raises InputError where it
    is not there, and the source is not known.
    """
    return _of_first_tile(session, spec) or _of_source(spec)


def _of_first_tile(session: Session, spec: JobSpec) -> Template | None:
    row, window = row_of(session, spec, 0), spec.plan.recipe.tiling().window(0)
    if row is None:
        return None
    try:
        tile = stored_tile(spec.plan.job_id, window, row, spec.plan.recipe)
        return template_from_header(session.store.get(tile.key, 0, tile.header_bytes, row.etag))
    except (IncompleteError, BadTiff):  # it is damaged itself
        return None


def _of_source(spec: JobSpec) -> Template:
    if spec.plan.recipe.merge is not None:
        return merged_template(spec.plan.recipe)
    try:
        location = (spec.locations or find_sources(spec, ()))[0]
    except InputError as error:
        first = keys.tile_key(spec.plan.job_id, spec.plan.recipe.tiling().window(0).name)
        raise InputError(
            f"the scene's metadata is not known, since {first} has no row: {error}"
        ) from None
    pin = spec.plan.sources[0]
    verify_pin(pin, location)
    return source_template(location, pin, spec.plan.recipe)

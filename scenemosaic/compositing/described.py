"""What the mosaic of several sources says of itself: all of it stands in the recipe."""

from functools import lru_cache

from scenemosaic.errors import InputError
from scenemosaic.image_metadata import SourceMetadata
from scenemosaic.recipes.merge import Shared
from scenemosaic.recipes.recipe import Recipe
from scenemosaic.sources.metadata import apply_metadata
from scenemosaic.tiff.layout import Template
from scenemosaic.tiff.template import make_template


def shared_of(metadata: SourceMetadata) -> Shared:
    """The part of an image's metadata that a recipe holds beside its own fields."""
    return Shared(
        tags=metadata.tags,
        band_tags=metadata.band_tags if any(metadata.band_tags) else (),
        descriptions=metadata.descriptions if any(metadata.descriptions) else (),
        units=metadata.units if any(metadata.units) else (),
        scales=metadata.scales if set(metadata.scales) != {1.0} else (),
        offsets=metadata.offsets if set(metadata.offsets) != {0.0} else (),
        colorinterp=metadata.colorinterp,
        colormaps=metadata.colormaps if any(metadata.colormaps) else (),
    )


def merged_metadata(recipe: Recipe) -> SourceMetadata:
    """The mosaic's metadata, from its recipe alone."""
    if recipe.merge is None:
        raise InputError("the recipe does not say what its sources share")
    shared, bands = recipe.merge.shared, recipe.bands
    return SourceMetadata(
        crs_wkt=recipe.grid.crs_wkt,
        transform=recipe.grid.transform,
        nodata=None if recipe.nodata is None else float(recipe.nodata),
        tags=shared.tags,
        band_tags=shared.band_tags or ((),) * bands,
        descriptions=shared.descriptions or ("",) * bands,
        units=shared.units or ("",) * bands,
        scales=shared.scales or (1.0,) * bands,
        offsets=shared.offsets or (0.0,) * bands,
        colorinterp=shared.colorinterp,
        colormaps=shared.colormaps or (None,) * bands,
    )


@lru_cache(maxsize=8)
def merged_template(recipe: Recipe) -> Template:
    """The template of such a job: no source is asked."""
    metadata = merged_metadata(recipe)
    return make_template(recipe, lambda dataset: apply_metadata(dataset, metadata))

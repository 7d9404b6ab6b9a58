"""How a mosaic is made: the fields of a form, and the block that keeps them under a name."""

from datetime import UTC, date, datetime, time
from typing import Literal, Self

from prefect.blocks.core import Block
from pydantic import BaseModel, ConfigDict, Field, model_validator

from blocks.forms import lifted
from blocks.validation import QUIET, as_value_error
from scenemosaic.plan import PlanOptions
from scenemosaic.recipe_rules import LEVELS

Resampling = Literal[
    "nearest", "average", "mode", "rms", "bilinear", "cubic", "cubic_spline", "lanczos", "gauss"
]
_LEAST_WINDOW_PX = 16
_MOST_WINDOW_PX = 65_536


class RecipeFields(BaseModel):
    """What decides a mosaic's pixels and bytes, beside the source itself."""

    model_config = QUIET | {"title": "Recipe"}

    compress: Literal["deflate", "zstd", "lzw", "lerc", "jpeg", "webp", "none"] = Field(
        default="deflate",
        title="Compression",
        description="jpeg and webp lose detail; all others keep every pixel.",
    )
    level: int | None = Field(
        default=None,
        ge=1,
        le=100,
        title="Level",
        description="deflate 1 to 12, zstd 1 to 22; the quality of jpeg and webp, 1 to 100.",
        examples=[6],
        json_schema_extra=lifted,
    )
    effort: Literal["fast", "balanced", "small"] = Field(
        default="balanced",
        title="Effort",
        description="For deflate and zstd without a level. Balanced looks at the pixels.",
    )
    resampling: Resampling | None = Field(
        default=None,
        title="Resampling of overviews",
        description="Left out: average, or nearest for palettes and complex numbers.",
    )
    categorical: bool = Field(
        default=False,
        title="Values are classes",
        description="Overviews then take mode or nearest: no mean is taken of classes.",
    )
    whole_bits: bool = Field(
        default=False,
        title="Write whole bits",
        description="Samples of fewer bits than their type (NBITS, as of Sentinel-2's JPEG 2000) "
        "are written with all of them: quicker to read, and often smaller.",
    )
    window: int | None = Field(
        default=None,
        ge=_LEAST_WINDOW_PX,
        le=_MOST_WINDOW_PX,
        title="Window",
        description="Pixels a side of a tile. Left out: what suits the scene.",
        examples=[2048],
        json_schema_extra=lifted,
    )
    block_size: int | None = Field(
        default=None,
        ge=_LEAST_WINDOW_PX,
        le=8192,
        multiple_of=16,
        title="Block",
        description="Pixels a side of a compressed block. Left out: 512, or what suits the scene.",
        examples=[512],
        json_schema_extra=lifted,
    )
    collection: str | None = Field(
        default=None,
        min_length=1,
        max_length=200,
        title="STAC collection",
        description="The collection that the mosaic's item names.",
        examples=["sentinel-2-mosaics"],
        json_schema_extra=lifted,
    )

    @model_validator(mode="after")
    def _level_fits(self) -> Self:
        levels = LEVELS[self.compress]
        if self.level is not None and (levels is None or self.level not in levels):
            known = "has no level" if levels is None else f"takes {levels[0]} to {levels[-1]}"
            raise ValueError(f"{self.compress} {known}: level {self.level} does not fit")
        return self

    def options(self, taken: date | None = None) -> PlanOptions:
        """What planning is asked for. ``taken`` is the day of a scene that does not say it."""
        with as_value_error():
            return PlanOptions(
                window="auto" if self.window is None else self.window,
                block_size=self.block_size,
                compress=self.compress,
                level=self.level,
                effort=self.effort,
                resampling=self.resampling,
                categorical=self.categorical,
                whole_bits=self.whole_bits,
                datetime=None if taken is None else noon(taken),
                collection=self.collection,
            )


def noon(day: date) -> str:
    """A day as a moment: RFC 3339 in UTC."""
    return datetime.combine(day, time(12), UTC).isoformat().replace("+00:00", "Z")


class MosaicRecipe(Block, RecipeFields):
    """A recipe that schedules, backfills and people share by its name."""

    model_config = ConfigDict(title="MosaicRecipe")

    _block_type_name = "Mosaic Recipe"
    _block_type_slug = "mosaic-recipe"
    _description = "How scenemosaic makes a mosaic: compression, overviews, windows."

    def fields(self) -> RecipeFields:
        """The recipe alone, without what makes it a block."""
        return RecipeFields(**{name: getattr(self, name) for name in RecipeFields.model_fields})

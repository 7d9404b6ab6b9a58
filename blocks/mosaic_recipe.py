"""How a mosaic is made: the fields of a form, and the block that keeps them under a name."""

from typing import Annotated, Literal, Self

from prefect.blocks.core import Block
from pydantic import BaseModel, ConfigDict, Field, model_validator

from blocks.forms import lifted
from blocks.validation import QUIET, as_value_error
from scenemosaic.bandmath.computed import canonical
from scenemosaic.bandmath.parser import MAX_CHARS
from scenemosaic.plans.plan import PlanOptions
from scenemosaic.recipes.recipe_rules import LEVELS, check_effort

Resampling = Literal[
    "nearest", "average", "mode", "rms", "bilinear", "cubic", "cubic_spline", "lanczos", "gauss"
]
DataType = Literal[
    "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64"
]
WarpResampling = Literal[
    "nearest", "bilinear", "cubic", "cubic_spline", "lanczos", "average", "mode", "rms"
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
    bands: list[Annotated[int, Field(ge=1, le=65_535)]] = Field(
        default_factory=list,
        max_length=1000,
        title="Bands",
        description="These bands of the source, in this order. Left out: all as they are.",
        examples=[[4, 3, 2]],
    )
    expression: str | None = Field(
        default=None,
        min_length=1,
        max_length=MAX_CHARS,
        title="Expression",
        description="Bands computed from the source's b1, b2, ..., separated by commas.",
        examples=["(b4 - b3) / (b4 + b3)"],
        json_schema_extra=lifted,
    )
    unscale: bool = Field(
        default=False,
        title="Unscale",
        description="Take value x scale + offset, as the source says them, of each band.",
    )
    dtype: DataType | None = Field(
        default=None,
        title="Data type",
        description="A value that does not fit is refused. Left out: float32 where bands are "
        "computed, else the source's.",
    )
    nodata: float | None = Field(
        default=None,
        allow_inf_nan=False,
        title="Nodata",
        description="Left out: NaN where bands are computed, else the source's.",
        examples=[-9999],
        json_schema_extra=lifted,
    )
    crs: str | None = Field(
        default=None,
        min_length=1,
        max_length=20_000,
        title="CRS",
        description="Left out: the first source's.",
        examples=["EPSG:32632"],
        json_schema_extra=lifted,
    )
    resolution: list[Annotated[float, Field(gt=0, allow_inf_nan=False)]] = Field(
        default_factory=list,
        max_length=2,
        title="Resolution",
        description="The pixel in units of the CRS, one number or two. Left out: the first "
        "source's.",
        examples=[[10]],
    )
    bounds: list[Annotated[float, Field(allow_inf_nan=False)]] = Field(
        default_factory=list,
        max_length=4,
        title="Bounds",
        description="West, south, east, north in units of the CRS. Left out: around all sources.",
        examples=[[500_000, 5_600_000, 600_000, 5_700_000]],
    )
    method: Literal["first", "last", "min", "max", "mean", "median", "count"] | None = Field(
        default=None,
        title="Method",
        description="What decides where sources overlap. Left out: the first one.",
    )
    warp_resampling: WarpResampling | None = Field(
        default=None,
        title="Resampling of sources",
        description="For those off the mosaic's grid. Left out: bilinear, or nearest for classes "
        "and complex numbers.",
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

    @model_validator(mode="after")
    def _effort_fits(self) -> Self:
        with as_value_error():
            check_effort(self.effort, self.compress, self.level)
        return self

    @model_validator(mode="after")
    def _bands_fit(self) -> Self:
        if self.bands and self.expression is not None:
            raise ValueError("give bands or an expression, which names its own")
        if self.expression is not None:
            with as_value_error():
                canonical(self.expression)
        return self

    @model_validator(mode="after")
    def _grid_fits(self) -> Self:
        if len(self.bounds) not in (0, 4):
            raise ValueError("bounds are four numbers: west, south, east, north")
        return self

    def options(self, taken: str | None = None) -> PlanOptions:
        """What planning is asked for. ``taken`` is when, as ``--datetime`` has it."""
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
                bands=tuple(self.bands) or None,
                expression=self.expression,
                unscale=self.unscale,
                dtype=self.dtype,
                nodata=self.nodata,
                crs=self.crs,
                resolution=tuple(self.resolution) or None,
                bounds=tuple(self.bounds) or None,
                method=self.method,
                warp_resampling=self.warp_resampling,
                datetime=taken,
                collection=self.collection,
            )


class MosaicRecipe(Block, RecipeFields):
    """A recipe that schedules, backfills and people share by its name."""

    model_config = ConfigDict(title="MosaicRecipe")

    _block_type_name = "Mosaic Recipe"
    _block_type_slug = "mosaic-recipe"
    _description = "How scenemosaic makes a mosaic: compression, overviews, windows."

    def fields(self) -> RecipeFields:
        """The recipe alone, without what makes it a block."""
        return RecipeFields(**{name: getattr(self, name) for name in RecipeFields.model_fields})

"""Which scenes a form asks for.

No postponed annotations in here: Prefect reads them as they stand.
"""

from datetime import date
from typing import Final, Self

from pydantic import BaseModel, Field, model_validator

from blocks.forms import absent, either, fields, lifted, required
from blocks.validation import QUIET
from flows.forms.parameters import Location, Text
from scenemosaic.discovery.selection import Selection
from scenemosaic.sources.locations import is_stac

MOST_SCENES = 10_000
_NO_LIST: Final = fields(scenes={"maxItems": 0})
_ONE_WAY: Final = either(
    absent("prefix"),
    either(absent("stac"), required("scenes", minItems=1), _NO_LIST),
    fields(scenes={"maxItems": 0}, stac={"type": "null"}),
)


class SceneSelection(BaseModel):
    """Which scenes: listed one by one, all below a prefix, or those that a STAC search finds."""

    model_config = QUIET | {"title": "Scenes", "json_schema_extra": _ONE_WAY}

    scenes: list[Location] = Field(
        default_factory=list,
        max_length=MOST_SCENES,
        title="Scenes",
        description="Paths or URIs, one scene each.",
        examples=[["s3://bucket/scenes/2024-05-01.tif"]],
    )
    prefix: Location | None = Field(
        default=None,
        title="Prefix",
        description="Every .tif, .tiff and .jp2 below this folder or S3 prefix.",
        examples=["s3://bucket/scenes/"],
        json_schema_extra=lifted,
    )
    stac: Location | None = Field(
        default=None,
        title="STAC",
        description="A STAC API to search, or a STAC file: item, item collection or catalog.",
        examples=["https://stac.example.org/v1"],
        json_schema_extra=lifted,
    )
    collections: list[Text] = Field(
        default_factory=list,
        max_length=100,
        title="Collections",
        description="Of a STAC search; left out, all.",
        examples=[["sentinel-2-l2a"]],
    )
    asset: str | None = Field(
        default=None,
        min_length=1,
        title="Asset",
        description="The item's asset that is the scene; left out, its one raster.",
        examples=["visual"],
    )
    since: date | None = Field(
        default=None,
        title="Since",
        description="The first day (UTC): when scenes were taken (STAC) or came (prefix).",
        examples=["2024-05-01"],
    )
    until: date | None = Field(
        default=None, title="Until", description="The last day, included.", examples=["2024-05-31"]
    )
    at_most: int = Field(
        default=1000,
        ge=1,
        le=MOST_SCENES,
        title="At most",
        description="So many scenes; more than that are an error, and nothing starts.",
        examples=[100],
    )

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        given = [name for name in ("scenes", "prefix", "stac") if getattr(self, name)]
        if len(given) != 1:
            said = " and ".join(given) or "none of them"
            raise ValueError(f"give exactly one of scenes, prefix and stac, not {said}")
        of_items = self.stac or any(map(is_stac, self.scenes))
        if (self.collections and not self.stac) or (self.asset and not of_items):
            raise ValueError("collections and asset belong to a STAC search; leave them out")
        if self.scenes and (self.since or self.until):
            raise ValueError("since and until do not apply to listed scenes; leave them out")
        if self.since and self.until and self.until < self.since:
            raise ValueError(f"until ({self.until}) is before since ({self.since}): swap them")
        return self

    def selection(self) -> Selection:
        """The same as the engine takes it."""
        given = self.model_dump()
        lists = {name: tuple(given[name]) for name in ("scenes", "collections")}
        return Selection(**given | lists)

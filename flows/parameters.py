"""What people fill into a form: parameters that say what is found, checked before anything starts.

No postponed annotations in here: Prefect reads them as they stand.
"""

import re
from datetime import date
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, Field, ValidationError, model_validator

from blocks.forms import Group, LeftOut, lifted
from blocks.mosaic_recipe import MosaicRecipe, RecipeFields
from blocks.validation import QUIET
from flows.batches import MAX_WINDOWS
from flows.engines import EngineName
from flows.recordable import LOCATION, MANIFEST
from scenemosaic.discovery.found import MOST_SOURCE_CHARS
from scenemosaic.discovery.selection import Selection
from scenemosaic.errors import InputError
from scenemosaic.plans.plan import PlanOptions
from scenemosaic.sources.locations import is_stac
from tasks.loading import load

MOST_SCENES = 10_000
MOST_WORKERS = 256
MOST_AT_ONCE = 50

Mode = Literal["missing", "again"]

# What flows have in common. Their descriptions stand in each flow's docstring: Prefect shows those.
Text = Annotated[str, Field(min_length=1, max_length=MOST_SOURCE_CHARS)]
Location = Annotated[Text, LOCATION]
MOST_SOURCES = 1000
Sources = Annotated[
    list[Location],
    Field(min_length=1, max_length=MOST_SOURCES, examples=[["s3://bucket/scenes/a.tif"]]),
]
GivenSources = Annotated[
    Annotated[list[Location], Field(max_length=MOST_SOURCES)] | None,
    Field(examples=[["/data/scenes/a.tif"]]),
    LeftOut(),
]
To = Annotated[Location | None, Field(examples=["s3://bucket/mosaics", "/data/mosaics"]), LeftOut()]
Manifest = Annotated[
    Annotated[Text, MANIFEST] | None,
    Field(examples=["dynamodb://scenemosaic-manifest", "sqlite:////data/manifest.db"]),
    LeftOut(),
]
BlockName = Annotated[str, Field(pattern=r"^[a-z0-9-]+$", max_length=100)]
Store = Annotated[BlockName | None, Field(examples=["production"]), LeftOut()]
Recipe = Annotated[RecipeFields | None, Group()]
RecipeBlock = Annotated[BlockName | None, Field(examples=["visual-jpeg"]), LeftOut()]
Taken = Annotated[date | None, Field(examples=["2024-05-01"])]
Asset = Annotated[
    Annotated[str, Field(min_length=1, max_length=200)] | None,
    Field(examples=["visual"]),
    LeftOut(),
]
Title = Annotated[
    Annotated[str, Field(min_length=1, max_length=200)] | None,
    Field(examples=["Harz, May 2024"]),
    LeftOut(),
]
Workers = Annotated[
    Annotated[int, Field(ge=1, le=MOST_WORKERS)] | None, Field(examples=[4]), LeftOut()
]
EngineChoice = Annotated[EngineName, Field()]
EngineAddress = Annotated[
    Annotated[str, Field(min_length=1, max_length=200)] | None,
    Field(examples=["tcp://10.0.0.7:8786"]),
    LeftOut(),
]
Readers = Annotated[int, Field(ge=1, le=MOST_WORKERS, examples=[8])]
WindowsPerTask = Annotated[
    Annotated[int, Field(ge=1, le=MAX_WINDOWS)] | None, Field(examples=[50]), LeftOut()
]
_JOB_ID = r"[0-9a-f]{32}"


def _whole(job_id: str) -> str:
    if re.fullmatch(_JOB_ID, job_id) is None:
        raise ValueError(
            "a flow takes a job's whole ID, all 32 hex digits; only commands take the first of them"
        )
    return job_id


JobId = Annotated[
    str,
    AfterValidator(_whole),
    Field(
        json_schema_extra={"pattern": f"^{_JOB_ID}$"}, examples=["5f0c3b1d9a7e4c2f8b6d0e1a2c3b4d5e"]
    ),
]
ReusedJob = Annotated[JobId | None, Field(examples=["5f0c3b1d9a7e4c2f8b6d0e1a2c3b4d5e"]), LeftOut()]
WindowName = Annotated[str, Field(pattern=r"^[0-9]{4,}_[0-9]{4,}$")]
Windows = Annotated[
    Annotated[list[WindowName], Field(max_length=10_000)] | None,
    Field(examples=[["0007_0012"]]),
    LeftOut(),
]
LedgerName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,63}$", examples=["publish"])]
IngestName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,56}$", examples=["nightly"])]
QueueUrl = Annotated[
    str,
    Field(
        pattern=r"^https?://[^/@?#\s]+/[^?#\s]+$",
        max_length=1000,
        examples=["https://sqs.eu-central-1.amazonaws.com/123456789012/scenes"],
    ),
]
ListenS = Annotated[int, Field(ge=1, le=86_400, examples=[300])]
HiddenS = Annotated[int, Field(ge=2, le=43_200, examples=[300])]
Slots = Annotated[int, Field(ge=1, le=100, examples=[1])]
TimeZone = Annotated[str, Field(min_length=1, max_length=100, examples=["Europe/Berlin"])]
ApproveWithin = Annotated[int, Field(ge=1, le=31 * 86_400, examples=[86_400])]
RunId = Annotated[
    Annotated[str, Field(min_length=1, max_length=200)] | None,
    Field(examples=["nightly-1"]),
    LeftOut(),
]
Age = Annotated[str, Field(pattern=r"^[0-9]+[smhdw]$", examples=["2h", "30m", "1d"])]
AtOnce = Annotated[int, Field(ge=1, le=MOST_AT_ONCE, examples=[4])]
Deployment = Annotated[
    Annotated[str, Field(pattern=r"^([^/]+/[^/]+)?$", max_length=500)] | None,
    Field(examples=["process-scene/default"]),
    LeftOut(),
]
Attempt = Annotated[int, Field(ge=1, le=1000, examples=[1])]


class SceneSelection(BaseModel):
    """Which scenes: listed one by one, all below a prefix, or those that a STAC search finds."""

    model_config = QUIET | {"title": "Scenes"}

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


def options_of(
    recipe: RecipeFields | None, recipe_block: str | None, taken: date | None = None
) -> PlanOptions:
    """What planning is asked for: these fields, those of a Mosaic Recipe block, or the defaults.

    Raises InputError where both are given, or Prefect holds no such block.
    """
    if recipe is not None and recipe_block is not None:
        raise InputError("give a recipe or the name of a Mosaic Recipe block, and not both")
    if recipe_block is not None:
        recipe = load(MosaicRecipe, recipe_block).fields()
    return (recipe or RecipeFields()).options(taken)


def fields_of(options: PlanOptions) -> RecipeFields | None:
    """The form's fields of what was asked for, for Prefect's records; None where it has none."""
    known = {name: getattr(options, name) for name in RecipeFields.model_fields}
    try:
        lists = {name: list(known[name] or ()) for name in ("bands", "resolution", "bounds")}
        window = None if options.window == "auto" else options.window
        return RecipeFields(**known | lists | {"window": window})
    except ValidationError:  # a command line may ask for more than a form offers
        return None

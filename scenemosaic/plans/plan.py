"""The plan: pinned sources and recipe. Its bytes are ``plan.json``, their hash the job ID."""

import hashlib
from dataclasses import dataclass, field
from datetime import date, datetime, time
from typing import Final, Literal

from scenemosaic.canonical import Fields, decode, encode, without
from scenemosaic.errors import InputError
from scenemosaic.grids.grid import Grid
from scenemosaic.grids.grid_json import grid_from_json, grid_json
from scenemosaic.grids.reach import check_place
from scenemosaic.keys import check_job_id
from scenemosaic.moments import rfc3339
from scenemosaic.plans.item_facts import ItemFacts
from scenemosaic.plans.pin import Pin, pin_from_json
from scenemosaic.recipes.recipe import Recipe, recipe_from_json

# Enough for some 50,000 sources.
MAX_PLAN_BYTES: Final = 32 << 20
UNKNOWN_TIME: Final = "unknown"


@dataclass(frozen=True, slots=True)
class PlanOptions:
    """What a user may ask for. None means: decided from the sources' headers alone.

    ``whole_bits`` writes samples of fewer bits than their type with all of them;
    ``categorical`` says that the values are classes, of which no mean is taken. ``asset`` is
    the one of a STAC item that is the scene, where sources are such items. ``title`` is what
    people call the mosaic. ``bands`` chooses bands in this order, ``expression`` computes
    others; ``unscale`` takes value x scale + offset of each band first; ``dtype`` and ``nodata``
    are the mosaic's. ``crs``, ``resolution`` (one number or two, in units of the CRS) and
    ``bounds`` (west, south, east, north) are its grid; ``method`` decides between sources, and
    ``warp_resampling`` is the kernel that puts them on the grid. ``reuse`` is the ID of an
    earlier job, whose options hold where none are given, and whose tiles are taken over.
    ``item`` is what a STAC item says of the one source, where a search has led there.
    """

    window: Literal["auto"] | int = "auto"
    block_size: int | None = None
    compress: str = "deflate"
    level: int | None = None
    predictor: int | None = None
    interleave: str | None = None
    resampling: str | None = None
    effort: str = "balanced"
    whole_bits: bool = False
    categorical: bool = False
    datetime: str | None = None
    collection: str | None = None
    title: str | None = None
    asset: str | None = None
    bands: tuple[int, ...] | None = None
    expression: str | None = None
    unscale: bool = False
    dtype: str | None = None
    nodata: float | None = None
    crs: str | None = None
    resolution: tuple[float, ...] | None = None
    bounds: tuple[float, ...] | None = None
    method: str | None = None
    warp_resampling: str | None = None
    reuse: str | None = None
    item: ItemFacts | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """What a job is: sources in the order that decides the pixels, recipe, and what the item says.

    ``datetime`` is RFC 3339 in UTC; ``datetime_source`` says where it comes
    from: ``option``, ``item:ID`` (``item-start:ID`` where it names a span), ``tag:NAME``,
    ``last-modified`` or ``unknown``. Of several sources it is the latest, and
    ``start_datetime`` the earliest. ``grids`` are the sources' own, where the recipe merges.
    """

    sources: tuple[Pin, ...]
    recipe: Recipe
    datetime: str | None = None
    datetime_source: str = UNKNOWN_TIME
    collection: str | None = None
    title: str | None = None
    start_datetime: str | None = None
    grids: tuple[Grid, ...] = ()
    _job_id: str = field(default="", init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self.sources:
            raise InputError("a plan needs at least one source")
        if (self.datetime is None) != (self.datetime_source == UNKNOWN_TIME):
            raise InputError(f"datetime {self.datetime} cannot come from {self.datetime_source!r}")
        if self.datetime is not None and utc_datetime(self.datetime) != self.datetime:
            raise InputError(f"datetime must be RFC 3339 in UTC, not {self.datetime!r}")
        if self.collection is not None:
            check_collection(self.collection)
        if self.title is not None:
            check_title(self.title)
        _check_start(self.start_datetime, self.datetime)
        merged = len(self.sources) if self.recipe.merge is not None else 0
        if len(self.grids) != merged or (len(self.sources) > 1 and not merged):
            raise InputError(f"{len(self.sources)} sources do not go with {len(self.grids)} grids")
        if self.recipe.merge is not None:  # else the grid is its one source's, as it stands
            check_place(self.recipe.grid, "recipe.grid")
        for number, grid in enumerate(self.grids):
            check_place(grid, f"plan.grids[{number}]")
        # At once, as a recipe's bytes are: it is asked for with every object of every window.
        object.__setattr__(self, "_job_id", job_id_of(self.canonical))

    def to_json(self) -> dict[str, object]:
        """The canonical JSON value."""
        values: dict[str, object] = {
            "sources": [pin.to_json() for pin in self.sources],
            "recipe": self.recipe.to_json(),
            "datetime": self.datetime,
            "datetime_source": self.datetime_source,
            "collection": self.collection,
            "title": self.title,
            "start_datetime": self.start_datetime,
            "grids": [grid_json(grid) for grid in self.grids],
        }
        defaults = {"datetime": None, "datetime_source": UNKNOWN_TIME}
        unsaid = dict.fromkeys(("collection", "title", "start_datetime"))
        return without(values, defaults | unsaid | {"grids": []})

    @property
    def canonical(self) -> bytes:
        """Exactly the bytes of ``plan.json``."""
        return encode(self.to_json())

    @property
    def job_id(self) -> str:
        """The first 32 hex digits of the SHA-256 of :attr:`canonical`."""
        return self._job_id


def job_id_of(data: bytes) -> str:
    """The job ID that belongs to the bytes of a ``plan.json``."""
    return hashlib.sha256(data).hexdigest()[:32]


def load_plan(data: bytes, job_id: str) -> Plan:
    """The plan in the bytes of a ``plan.json``.

    Raises InputError where the bytes are not those of ``job_id``, are not
    canonical, or where a field is unknown, missing, of another type or absurd.
    """
    if len(data) > MAX_PLAN_BYTES:
        raise InputError(f"plan.json has {len(data)} bytes, more than {MAX_PLAN_BYTES}")
    if job_id_of(data) != check_job_id(job_id):
        raise InputError(f"plan.json of job {job_id} is damaged: it hashes to {job_id_of(data)}")
    plan = _plan_from_json(decode(data, "plan.json"))
    if plan.canonical != data:
        raise InputError(f"plan.json of job {job_id} is not canonical JSON of this version")
    return plan


def utc_datetime(text: str) -> str:
    """RFC 3339 in UTC (``2024-05-01T10:20:30Z``) of an ISO 8601 date or time; no zone means UTC.

    A day alone is its noon, whoever says it: the same day is the same job.
    """
    try:
        return rfc3339(_noon(text) or datetime.fromisoformat(text), whole=False)
    except (ValueError, OverflowError) as error:
        raise InputError(f"not a date or time such as 2024-05-01T10:20:30Z: {text!r}") from error


def _noon(text: str) -> datetime | None:
    """Noon of a day; None where ``text`` is something else."""
    try:
        return datetime.combine(date.fromisoformat(text), time(12))
    except ValueError:
        return None


def check_collection(text: str) -> str:
    """The collection's ID itself, or InputError where it is not usable as one."""
    if not 0 < len(text) <= 256 or not text.isprintable() or "/" in text:
        raise InputError(
            f"a collection is 1 to 256 printable characters without '/', not {text!r:.80}"
        )
    return text


def check_title(text: str) -> str:
    """The title itself, or InputError where people could not read it."""
    if not 0 < len(text) <= 200 or not text.isprintable() or text != text.strip():
        raise InputError(
            f"a title is 1 to 200 printable characters without spaces around, not {text!r:.80}"
        )
    return text


def _plan_from_json(value: object) -> Plan:
    fields = Fields(value, "plan")
    plan = Plan(
        sources=tuple(
            pin_from_json(source, f"plan.sources[{i}]")
            for i, source in enumerate(fields.items("sources"))
        ),
        recipe=recipe_from_json(fields.take("recipe")),
        datetime=fields.typed("datetime", str, None),
        datetime_source=fields.typed("datetime_source", str, UNKNOWN_TIME),
        collection=fields.typed("collection", str, None),
        title=fields.typed("title", str, None),
        start_datetime=fields.typed("start_datetime", str, None),
        grids=tuple(
            grid_from_json(grid, f"plan.grids[{i}]")
            for i, grid in enumerate(fields.typed("grids", list, []))
        ),
    )
    fields.done()
    return plan


def _check_start(start: str | None, end: str | None) -> None:
    if start is None:
        return
    before = end is not None and datetime.fromisoformat(start) < datetime.fromisoformat(end)
    if utc_datetime(start) != start or not before:
        raise InputError(f"start_datetime must be before {end}, in UTC, not {start!r:.80}")

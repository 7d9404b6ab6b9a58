"""Which deployments there are: what ``scenemosaic serve`` serves, and prefect.yaml lists. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final, Literal

NAME: Final = "default"
TAGS: Final = ("scenemosaic",)
# The name of a Scene Store block: schedules are paused until somebody has saved it.
STORE: Final = "production"


@dataclass(frozen=True, slots=True)
class Timetable:
    """A schedule, paused until a person turns it on. Exactly one of ``cron`` and ``every``.

    It has no parameters of its own: Prefect empties them as it is turned on.
    """

    slug: str
    cron: str | None = None
    every: timedelta | None = None
    time_zone: str = "UTC"


@dataclass(frozen=True, slots=True)
class Entry:
    """A deployment named ``default`` of one flow. ``limit`` runs of it go on at once.

    ``parameters`` are what a run has that is given none: a scheduled one.
    """

    entrypoint: str
    description: str
    limit: int
    collision: Literal["ENQUEUE", "CANCEL_NEW"]
    timetables: tuple[Timetable, ...] = ()
    parameters: Mapping[str, object] = field(default_factory=dict)


TABLE: Final = (
    Entry(
        "flows/process.py:process_scene",
        "One scene becomes a mosaic COG, each output written at most once.",
        8,
        "ENQUEUE",
    ),
    Entry(
        "flows/backfill.py:backfill_scenes",
        "Many scenes become mosaics, so many at once; what is finished is not touched.",
        2,
        "ENQUEUE",
    ),
    Entry(
        "flows/ingest_new.py:ingest_new_scenes",
        "What is new under a prefix or in a STAC search becomes mosaics; for a schedule.",
        1,
        "CANCEL_NEW",
        (Timetable("nightly", cron="30 2 * * *"),),
        {"name": "nightly", "scenes": {"prefix": "s3://bucket/scenes/"}, "store": STORE},
    ),
    Entry(
        "flows/ingest_events.py:ingest_events",
        "Scenes become mosaics as a queue's messages announce them; each may come twice.",
        4,
        "ENQUEUE",
        (Timetable("every-5-minutes", every=timedelta(minutes=5)),),
        {
            "queue": "https://sqs.eu-central-1.amazonaws.com/123456789012/scenes",
            "store": STORE,
        },
    ),
    Entry(
        "flows/repair.py:repair_scene",
        "What is wrong with a job is repaired, and its mosaic's next revision published.",
        4,
        "ENQUEUE",
    ),
    Entry(
        "flows/verify.py:verify_scene",
        "Every tile and the mosaic of a job are compared with their rows.",
        4,
        "ENQUEUE",
    ),
    Entry(
        "flows/publish.py:publish",
        "latest.json names a finished job's mosaic, so many times a day.",
        4,
        "ENQUEUE",
    ),
    Entry(
        "flows/watch_ledger.py:watch_ledger",
        "An event where a run holds a ledger for too long.",
        1,
        "CANCEL_NEW",
        (Timetable("every-15-minutes", every=timedelta(minutes=15)),),
        {"store": STORE},
    ),
)

"""What people and schedules do: the parameters of each flow's run, and what they are started by."""

from collections.abc import Mapping, Sequence
from typing import Any

from tests.soak.damage import Place
from tests.soak.evidence import Wanted
from tests.soak.scenes import RECIPE
from tests.soak.schedule import Verb

DEPLOYMENTS = {
    Verb.INGEST: "ingest-new-scenes/default",
    Verb.BACKFILL: "backfill-scenes/default",
    Verb.REPAIR: "repair-scene/default",
}
AT_ONCE = 3
# So many of them run the scenes in their own process, and of backfills look at finished ones.
ALONE, AGAIN = 0.35, 0.2


def ingest(place: Place, chance: float) -> Mapping[str, Any]:
    """The schedule of the place, as its timetable would start it."""
    return {"name": f"soak-{place.name}", "store": None, **_many(place, chance)}


def backfill(place: Place, chance: float, attempt: int) -> Mapping[str, Any]:
    """All scenes of the place; a new ``attempt`` runs again what failed or crashed."""
    mode = "again" if chance > 1 - AGAIN else "missing"
    return {"mode": mode, "attempt": attempt, **_many(place, chance)}


def repair(place: Place, job: Wanted) -> Mapping[str, Any]:
    """What verification finds wrong with a job."""
    sources = [place.location(job.scene)] if place.needs_sources else None
    return {"job_id": job.job_id, "sources": sources, **_where(place)}


def due(among: Sequence[Wanted], chance: float) -> Wanted | None:
    """Whose repair is started; None where there is none."""
    return among[int(chance * len(among))] if among else None


def _many(place: Place, chance: float) -> dict[str, Any]:
    return {
        "scenes": {"prefix": place.prefix},
        "recipe": RECIPE,
        "at_once": AT_ONCE,
        "deployment": "" if chance < ALONE else "process-scene/default",
        **_where(place),
    }


def _where(place: Place) -> dict[str, Any]:
    return {"to": place.root, "manifest": place.manifest}

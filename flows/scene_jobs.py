"""From a scene that was found to its job: what backfills and schedules have in common."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date

from blocks.mosaic_recipe import noon
from flows.places import planned
from scenemosaic.discovery.found import Found
from scenemosaic.job import JobSpec
from scenemosaic.places import Place
from scenemosaic.plan import UNKNOWN_TIME, PlanOptions
from scenemosaic.publishing.item_facts import ItemFacts, check_facts
from scenemosaic.sources.reading_env import reading_as

_log = logging.getLogger(__name__)
# Where a scene's own header does not say when it was taken, its STAC item knows it better.
_GUESSED = ("last-modified", UNKNOWN_TIME)


@dataclass(frozen=True, slots=True)
class SceneJob:
    """A planned scene. ``taken`` is the day that planning was told, if it had to be."""

    spec: JobSpec
    options: PlanOptions
    taken: date | None = None

    @property
    def sources(self) -> Sequence[str]:
        return self.spec.locations


def plan_found(found: Found, place: Place, options: PlanOptions) -> SceneJob:
    """The job of a scene that was found; the same one each time, whoever asks.

    Raises InputError, also where its STAC item says another checksum than it has; StoreError.
    """
    options = replace(options, asset=None)
    spec = planned([found.source], place, options)
    if found.facts is not None:
        _check(found.name, found.facts, spec)
    if found.taken is None or spec.plan.datetime_source not in _GUESSED:
        return SceneJob(spec, options)
    day = date.fromisoformat(found.taken[:10])
    dated = replace(options, datetime=noon(day))
    return SceneJob(planned([found.source], place, dated), dated, day)


def _check(name: str, facts: ItemFacts, spec: JobSpec) -> None:
    with reading_as(spec.place.store):
        notes = check_facts(facts, spec.plan.sources[0], spec.locations[0])
    for note in notes:
        _log.warning("%s: %s", name, note)

"""From a scene that was found to its job: what backfills and schedules have in common."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from scenemosaic import job
from scenemosaic.discovery.found import Found
from scenemosaic.job import JobSpec
from scenemosaic.places import Place
from scenemosaic.plans.plan import PlanOptions


@dataclass(frozen=True, slots=True)
class SceneJob:
    """A planned scene, and what planning was asked for."""

    spec: JobSpec
    options: PlanOptions

    @property
    def sources(self) -> Sequence[str]:
        return self.spec.locations


def plan_found(found: Found, place: Place, options: PlanOptions) -> SceneJob:
    """The job of a scene that was found; the same one each time, whoever asks.

    So it is of a scene whose STAC item is given by itself: its item says when it was taken.
    Raises InputError, also where its STAC item says another checksum than it has; StoreError.
    """
    options = replace(options, asset=None, item=found.facts)
    spec = job.plan_at([found.source], place, options)
    job.log_notes(spec, of_time=False)  # of all scenes in sum: BackfillReport.note
    return SceneJob(spec, options)

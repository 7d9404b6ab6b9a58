"""The top boxes of a very large mosaic: made in batches before assembly, which copies them."""

import logging
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from prefect import unmapped

from flows.engines import batches
from flows.engines.clusters import collect, pool_of
from flows.engines.own_cluster import OwnCluster
from flows.scenes.session import Session
from flows.scenes.stopwatch import Stopwatch
from flows.scenes.tally import Tally
from scenemosaic import job
from scenemosaic.errors import SceneMosaicError
from scenemosaic.job import JobSpec, Run
from scenemosaic.mosaic.top import Box
from scenemosaic.mosaic.top_boxes import largest_bytes
from scenemosaic.recipes.recipe import Recipe
from scenemosaic.top_boxes.committing import BoxBatch, missing_boxes
from tasks.make_top_boxes import make_top_boxes

_log = logging.getLogger(__name__)


# A row and a seed are asked for, and the seed is decoded.
SEED_S: Final = 0.003


def make_boxes(
    session: Session, run: Run, cluster: OwnCluster, watch: Stopwatch, tally: Tally
) -> None:
    """Make the top boxes that do not stand, where the mosaic is so large that it has any.

    Assembly makes by itself what is missing: an error here is a warning.
    """
    try:
        boxes = missing_boxes(session.spec)
        if boxes and job.finished(session.spec) is None:
            with watch.stage("top boxes", session.observer):
                _map(boxes, session.spec, run, cluster, tally)
    except SceneMosaicError as error:
        _log.warning("top boxes are missing, and assembly makes what they would hold: %s", error)


def box_batch_size(recipe: Recipe, boxes: Sequence[Box], workers: int) -> int:
    """Boxes a batch, as with windows."""
    levels = boxes[0].up
    # All levels of a box together have a third more pixels than the largest.
    megabytes = largest_bytes(recipe, levels) / 1e6 * batches.PYRAMID
    box_s = 4**levels * SEED_S + megabytes / batches.mb_per_s(recipe)
    return batches.size_of(box_s, len(boxes), workers)


def _map(
    boxes: tuple[Box, ...], spec: JobSpec, run: Run, cluster: OwnCluster, tally: Tally
) -> None:
    size = box_batch_size(spec.plan.recipe, boxes, cluster.limits.workers)
    parameters = {
        "spec": unmapped(spec),
        "boxes": [boxes[start : start + size] for start in range(0, len(boxes), size)],
        "run": unmapped(run),
        "alone": unmapped(cluster.limits.engine.crosses),
    }
    outcomes: Counter[str] = Counter()

    def take(batch: BoxBatch) -> None:
        outcomes.update(one.outcome for one in batch.outcomes)
        tally.trace(batch.trace)

    batch_task: Any = make_top_boxes  # Prefect's overloads take every task for an async one
    with pool_of(cluster, spec) as pool:
        collect([*pool.runner.map(batch_task, parameters)], pool, take, "top boxes")
    _log.info("top boxes: %s", ", ".join(f"{n} {name}" for name, n in sorted(outcomes.items())))

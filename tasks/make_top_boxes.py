"""Make a batch of a very large mosaic's top boxes, each committed once."""

from prefect import task

from scenemosaic.job import JobSpec, Run
from scenemosaic.machine.one_thread import one_thread_each
from scenemosaic.mosaic.top import Box
from scenemosaic.top_boxes.committing import BoxBatch, make_boxes
from tasks import credentials as _resolvers  # noqa: F401  # a worker process finds them by it
from tasks import policy


@task(
    name="make-top-boxes",
    **policy.COMMON,
    timeout_seconds=policy.BATCH_DEADLINE_S,
)
def make_top_boxes(
    spec: JobSpec, boxes: tuple[Box, ...], run: Run, alone: bool = False
) -> BoxBatch:
    """Commit the boxes; one that was already there, or cannot be made, is an outcome.

    ``alone``: in a worker's own process. Raises TransientStoreError (tried again),
    ConflictError or another StoreError (not).
    """
    if alone:
        one_thread_each()
    return make_boxes(spec, boxes, run)

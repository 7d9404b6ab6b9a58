"""Assemble the mosaic, its preview and its item from the tiles that the manifest proves."""

from collections.abc import Callable

from prefect import task

from scenemosaic import job
from scenemosaic.job import JobSpec, MosaicResult, Run
from tasks import policy


@task(
    name="assemble-mosaic",
    **policy.COMMON,
)
def assemble_mosaic(
    spec: JobSpec,
    run: Run,
    progress: Callable[[int, int], None] | None = None,
    renew: bool = False,
) -> MosaicResult:
    """The mosaic as it stands now; one that was already there is an outcome.

    ``progress`` is told bytes done and bytes in all. With ``renew`` the next revision is
    made in any case. Raises IncompleteError naming the windows without a row; nothing is
    written then.
    """
    return job.assemble(spec, run, progress, renew=renew)

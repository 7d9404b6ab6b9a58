"""Assemble the mosaic, its preview and its item from the tiles that the manifest proves."""

from prefect import task

from scenemosaic import job
from scenemosaic.job import JobSpec, MosaicResult, Run
from scenemosaic.mosaic.progress import Progress
from tasks import policy


@task(
    name="assemble-mosaic",
    **policy.COMMON,
)
def assemble_mosaic(
    spec: JobSpec,
    run: Run,
    progress: Progress | None = None,
    renew: bool = False,
) -> MosaicResult:
    """The mosaic as it stands now; one that was already there is an outcome.

    ``progress`` is told what is done, of how much, and the phase. With ``renew`` the next
    revision is made in any case. Raises IncompleteError naming the windows without a row;
    nothing is written then.
    """
    return job.assemble(spec, run, progress, renew=renew)

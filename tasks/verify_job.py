"""Verify a job: what stands in the store against its plan and its rows."""

from collections.abc import Sequence
from typing import Final

from prefect import task

from scenemosaic.places import Place
from scenemosaic.verification import verify
from scenemosaic.verification.report import VerifyReport
from tasks import policy

DEADLINE_S: Final = 24 * 3600


@task(
    name="verify-job",
    **policy.COMMON,
    timeout_seconds=DEADLINE_S,
)
def verify_job(
    job_id: str, place: Place, names: Sequence[str], deep: bool, workers: int
) -> VerifyReport:
    """What is off, as a value: a damaged job is a result, and no failure of the task.

    Raises InputError where there is no such job, or a StoreError.
    """
    return verify.verify_job(job_id, place, names=names, deep=deep, workers=workers)

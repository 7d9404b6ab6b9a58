"""Verify a job: what stands in the store against its plan and its rows."""

from collections.abc import Sequence
from typing import Final

from prefect import task
from prefect.cache_policies import NO_CACHE

from scenemosaic.places import Place
from scenemosaic.verification import verify
from scenemosaic.verification.report import VerifyReport
from tasks import policy

DEADLINE_S: Final = 24 * 3600


@task(
    name="verify-job",
    cache_policy=NO_CACHE,
    persist_result=False,
    retries=policy.RETRIES,
    retry_delay_seconds=policy.BACKOFF_S,
    retry_jitter_factor=policy.JITTER,
    retry_condition_fn=policy.is_retryable,
    timeout_seconds=DEADLINE_S,
)
def verify_job(
    job_id: str, place: Place, names: Sequence[str], deep: bool, workers: int
) -> VerifyReport:
    """What is off, as a value: a damaged job is a result, and no failure of the task.

    Raises InputError where there is no such job, or a StoreError.
    """
    return verify.verify_job(job_id, place, names=names, deep=deep, workers=workers)

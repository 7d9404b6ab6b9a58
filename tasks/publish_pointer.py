"""Publish a named job: a slot of the ledger, ``latest.json``, the catalog."""

from prefect import task
from prefect.cache_policies import NO_CACHE

from scenemosaic import publication
from scenemosaic.job import JobSpec
from scenemosaic.latest import Target
from scenemosaic.ledger.book import Wanted
from scenemosaic.publication import Publication
from tasks import policy


@task(
    name="publish-pointer",
    cache_policy=NO_CACHE,
    persist_result=False,
    retries=policy.RETRIES,
    retry_delay_seconds=policy.BACKOFF_S,
    retry_jitter_factor=policy.JITTER,
    retry_condition_fn=policy.is_retryable,
)
def publish_pointer(
    spec: JobSpec, ledger: str, wanted: Wanted, approved: Target | None = None
) -> Publication:
    """What the publication came to; a held lease or a used-up day is an outcome.

    A retry keeps the reservation that its first try made, and uses one slot.
    """
    return publication.publish(spec, ledger, wanted, approved)

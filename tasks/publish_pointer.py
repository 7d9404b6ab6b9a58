"""Publish a named job: a slot of the ledger, ``latest.json``, the catalog."""

from prefect import task

from scenemosaic.job import JobSpec
from scenemosaic.ledger.book import Wanted
from scenemosaic.publishing import publication
from scenemosaic.publishing.latest import Target
from scenemosaic.publishing.publication import Publication
from tasks import policy


@task(
    name="publish-pointer",
    **policy.COMMON,
)
def publish_pointer(
    spec: JobSpec, ledger: str, wanted: Wanted, approved: Target | None = None
) -> Publication:
    """What the publication came to; a held lease or a used-up day is an outcome.

    A retry keeps the reservation that its first try made, and uses one slot.
    """
    return publication.publish(spec, ledger, wanted, approved)

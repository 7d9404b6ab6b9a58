"""The tag of our flow runs, by which Prefect's server tells them from others'."""

from contextlib import AbstractContextManager

from prefect import tags
from prefect.context import TagsContext

from flows.server.deployment_table import TAGS


def tagged() -> AbstractContextManager[object]:
    """Flow runs that begin within carry the tags which a deployment gives its own."""
    return tags(*TAGS)


def untagged() -> AbstractContextManager[object]:
    """Task runs that begin within carry none: for each Prefect would ask its server for a slot."""
    return TagsContext(current_tags=set())

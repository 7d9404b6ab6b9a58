"""The conditions of DynamoDB's writes, as PutItem takes them."""

from collections.abc import Mapping
from typing import Any, Final

from scenemosaic.manifests.packing import PARTITION

# The limits are 4 KB, and 300 operators and functions together.
MOST_TIMES: Final = 136


def absent(times: int = 1) -> Mapping[str, Any]:
    """Where no row stands; said so many times over, up to :data:`MOST_TIMES`."""
    return {
        "ConditionExpression": " AND ".join(["attribute_not_exists(#k)"] * times),
        "ExpressionAttributeNames": {"#k": PARTITION},
    }


def at_revision(revision: int) -> Mapping[str, Any]:
    """Where a row of this very revision stands."""
    return {
        "ConditionExpression": "#r = :r",
        "ExpressionAttributeNames": {"#r": "revision"},
        "ExpressionAttributeValues": {":r": {"N": str(revision)}},
    }

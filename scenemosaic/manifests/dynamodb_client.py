"""A client of DynamoDB that sends each request once, within its deadlines."""

from typing import TYPE_CHECKING

from botocore.config import Config

from scenemosaic.access import Access
from scenemosaic.waiting.boto_deadlines import timed_client
from scenemosaic.waiting.boto_sessions import boto_client
from scenemosaic.waiting.deadlines import Deadlines

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


def open_client(region: str | None, access: Access, deadlines: Deadlines) -> "DynamoDBClient":
    """A client of its own; what ``region`` and ``access`` leave out is the environment's."""
    config = Config(
        connect_timeout=deadlines.connect_s,
        read_timeout=deadlines.silence_s,
        max_pool_connections=64,
        # One attempt a request: a re-sent PutItem would be refused by our own row. The
        # legacy mode alone checks x-amz-crc32 on the only attempt.
        retries={"mode": "legacy", "total_max_attempts": 1},
    )
    client: DynamoDBClient = boto_client(
        "dynamodb", "the manifest in DynamoDB", config, access, region=region
    )
    return timed_client(client)

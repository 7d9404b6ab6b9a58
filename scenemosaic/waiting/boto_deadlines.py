"""boto3's clients on timed connections."""

from typing import Any, TypeVar

from scenemosaic.waiting.deadlines import timed_pools

C = TypeVar("C")


def timed_client(client: C) -> C:
    """The client, just made, all of whose connections keep the deadline of their call."""
    # botocore offers no setting for it: its pools are its own, kept once for all proxies.
    session: Any = client._endpoint.http_session  # type: ignore[attr-defined]
    pools = timed_pools(session._pool_classes_by_scheme)
    session._pool_classes_by_scheme = session._manager.pool_classes_by_scheme = pools
    return client

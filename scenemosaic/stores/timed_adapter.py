"""Timed connections for the clients that use the requests library."""

from typing import Any

from requests.adapters import HTTPAdapter

from scenemosaic.waiting.deadlines import time_connections

POOL_SIZE = 32


class TimedAdapter(HTTPAdapter):
    """Sends each request once, on a connection that keeps the deadline of its call."""

    def __init__(self) -> None:
        super().__init__(pool_maxsize=POOL_SIZE, max_retries=0)

    def init_poolmanager(self, *args: Any, **more: Any) -> None:
        super().init_poolmanager(*args, **more)
        time_connections(self.poolmanager)

    def proxy_manager_for(self, *args: Any, **more: Any) -> Any:
        known = dict(self.proxy_manager)
        manager = super().proxy_manager_for(*args, **more)
        if manager not in known.values():
            time_connections(manager)
        return manager

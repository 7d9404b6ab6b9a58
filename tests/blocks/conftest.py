"""The API that blocks are saved to."""

from tests.flows.conftest import harness, prefect_server

__all__ = ["harness", "prefect_server"]

"""The command line's tests share the flows' server and scenes."""

from tests.flows.conftest import prefect_server, scene

__all__ = ["prefect_server", "scene"]

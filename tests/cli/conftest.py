"""The command line's tests share the flows' server and scenes."""

from tests.flows.conftest import scene

__all__ = ["scene"]

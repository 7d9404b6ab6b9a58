"""The command line's tests share the flows' server and scenes."""

from tests.flows.conftest import scene
from tests.jobs.conftest import local_place, make_place, s3_place

__all__ = ["local_place", "make_place", "s3_place", "scene"]

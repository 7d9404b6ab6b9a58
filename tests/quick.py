"""What would only take time in the test process itself."""

import functools
import os
import sys

import botocore.loaders
import botocore.session
from rasterio.session import DummySession, Session


def make_quick() -> None:
    """No machine fails here, and no file of botocore's changes: nothing is synced or read twice.

    Nor does rasterio look for an account before it opens a file. What tests start as processes
    of their own is as it comes, but for its imports (tests/forked.py) and its collector.
    """
    os.fsync = lambda descriptor: None
    # What pytest makes of the tests' assertions is kept for the other workers and the next run.
    sys.dont_write_bytecode = False
    botocore.session.create_loader = _loader
    Session.from_environ = staticmethod(lambda *_, **__: DummySession())


@functools.cache
def _one_loader(data_path: str | None) -> botocore.loaders.Loader:
    return botocore.loaders.create_loader(data_path)


def _loader(data_path: str | None = None) -> botocore.loaders.Loader:
    found = _one_loader(data_path)
    # Each session of boto3 adds its own folder.
    found.search_paths[:] = dict.fromkeys(found.search_paths)
    return found

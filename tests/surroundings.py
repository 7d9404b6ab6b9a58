"""The environment of tests: no account, no home folder, no proxy of this machine."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests import databases, servers

_FOREIGN = ("AWS_", "AZURE_", "GOOGLE_", "STORAGE_EMULATOR_", "PREFECT_", "BOTO_", "PG")
_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy")


def enter(folder: Path) -> None:
    """Make it this process's, for good; what programs keep at home lies in ``folder``."""
    # Workers begin with the environment of the process that they are workers of.
    os.environ.setdefault(databases.FOLDER, str(folder))
    for name in list(os.environ):
        if name.startswith(_FOREIGN) or name in _PROXIES:
            del os.environ[name]
    # Else hundreds of processes compile the product's modules, each anew.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    # What all processes that begin here read first.
    path = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys([*filter(None, path), servers.SELDOM]))
    os.environ.update(_environment(folder))


@contextmanager
def entered(folder: Path) -> Iterator[None]:
    """The same for the length of a block."""
    before = dict(os.environ)
    enter(folder)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _environment(folder: Path) -> dict[str, str]:
    return {
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_REGION": servers.REGION,
        "AWS_DEFAULT_REGION": servers.REGION,
        "AWS_CONFIG_FILE": str(folder / "no-aws-config"),
        "AWS_SHARED_CREDENTIALS_FILE": str(folder / "no-aws-credentials"),
        "AWS_EC2_METADATA_DISABLED": "true",
        "CLOUDSDK_CONFIG": str(folder / "no-gcloud-config"),
        "NO_GCE_CHECK": "true",
        "NO_PROXY": "127.0.0.1,localhost",
        "XDG_CACHE_HOME": str(folder / "cache"),
        "PREFECT_HOME": str(folder / "prefect"),
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "180",
        "DO_NOT_TRACK": "1",
    }

"""Which places were found to enforce their conditions: remembered by user and by process.

A cache only: what goes wrong with it costs a few requests.
"""

import contextlib
import hashlib
import json
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from scenemosaic.sources.pin_cache import cache_dir

VALID_S = 30 * 86_400.0
# The same URI may lead elsewhere when these say so. Only a hash of them is kept.
_LEADS_ELSEWHERE = (
    "AWS_CONFIG_FILE",
    "AWS_ENDPOINT_URL",
    "AWS_ENDPOINT_URL_DYNAMODB",
    "AWS_ENDPOINT_URL_S3",
    "AWS_PROFILE",
    "AWS_REGION",
    "AWS_DEFAULT_REGION",
    "AZURE_STORAGE_ACCOUNT",
    "AZURE_STORAGE_CONNECTION_STRING",
    "PGHOST",
    "PGPORT",
    "STORAGE_EMULATOR_HOST",
)
_seen: dict[str, float] = {}


class Memory:
    """What was remembered within ``VALID_S``, for one environment. ``now`` is Unix time."""

    def __init__(
        self,
        environment: Mapping[str, str] | None = None,
        folder: Path | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._environment = os.environ if environment is None else environment
        self._folder = cache_dir() / "preflight" if folder is None else folder
        self._now = now

    def knows(self, place: str) -> bool:
        """Whether the place was found sound, and not too long ago."""
        name = self._name(place)
        if name not in _seen:
            found = _read(self._folder / name)
            if found is None:
                return False
            _seen[name] = found
        return 0 <= self._now() - _seen[name] < VALID_S

    def remember(self, place: str) -> None:
        """Keep that the place is sound, on disk too where that can be written."""
        name = self._name(place)
        _seen[name] = self._now()
        with contextlib.suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            # Torn, it is no JSON, and the place is checked once more.
            (self._folder / name).write_text(json.dumps({"checked_at": _seen[name]}))

    def _name(self, place: str) -> str:
        leads = [self._environment.get(name, "") for name in _LEADS_ELSEWHERE]
        identity = json.dumps([place, str(self._folder), *leads])
        return f"{hashlib.sha256(identity.encode()).hexdigest()}.json"


def _read(entry: Path) -> float | None:
    try:
        found = json.loads(entry.read_bytes())["checked_at"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return float(found) if isinstance(found, int | float) else None

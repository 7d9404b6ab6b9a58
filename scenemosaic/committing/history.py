"""What keys held before: former versions and delete markers, which a create does not see.

A create over a delete marker succeeds, and no store's answer says so: only a listing of
versions does. One is made for each run and kind of key, and only where versions are kept.
"""

import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from scenemosaic.errors import KeyHasHistory
from scenemosaic.stores.port import Histories, Store, Version
from scenemosaic.waiting.retry import Effects, RetryPolicy, retrying

Past = Mapping[str, tuple[Version, ...]]
NOTHING: Final[Past] = {}
_KEPT_LOOKS = 32


@dataclass(frozen=True, slots=True)
class Looks:
    """Looks that were made already, so that each is made once; safe for threads."""

    _lock: threading.Lock = field(default_factory=threading.Lock)
    _made: dict[tuple[str, str], Past] = field(default_factory=dict)

    def once(self, name: tuple[str, str], look: Callable[[], Past]) -> Past:
        """What ``look`` sees, or saw when it was made under this name."""
        with self._lock:
            if name not in self._made:
                while len(self._made) >= _KEPT_LOOKS:
                    del self._made[next(iter(self._made))]
                self._made[name] = look()
            return self._made[name]


def look(store: Store, prefix: str, policy: RetryPolicy, effects: Effects) -> Past:
    """Former versions and delete markers by key, below ``prefix``; none where none are kept.

    Raises PermanentStoreError where versions may not be listed.
    """
    if not (store.capabilities.versions and isinstance(store, Histories)):
        return NOTHING
    return retrying(lambda: former(store.versions(prefix)), policy, effects)


def former(found: Iterable[Version]) -> Past:
    """Those that are not what stands at their key now."""
    past: defaultdict[str, tuple[Version, ...]] = defaultdict(tuple)
    for version in found:
        if not version.current:
            past[version.key] += (version,)
    return dict(past)


def refuse(past: Past, key: str, uri: str) -> None:
    """Raise KeyHasHistory, naming ``uri``, where something stood at the key before."""
    if key in past:
        raise KeyHasHistory(
            f"--strict-history: {uri} is not written, because something stood there before "
            f"({describe(past[key])}); find out who deleted it, then restore that version, or run "
            "without --strict-history"
        )


def describe(found: Iterable[Version]) -> str:
    """Versions and markers in words."""
    texts = [
        f"{'delete marker' if one.marker else 'version'} {one.version_id or 'null'}"
        for one in found
    ]
    return ", ".join(texts)

"""A schedule's cursor where it is kept: one object under a root, changed by compare-and-swap."""

import logging
from collections.abc import Iterable
from dataclasses import dataclass

from scenemosaic import keys
from scenemosaic.committing.commit import Effects, RetryPolicy, system_effects
from scenemosaic.committing.mutable import PATIENCE, Changed, Mutable
from scenemosaic.discovery.cursor import MAX_CURSOR_BYTES, Cursor, latest_believed, load
from scenemosaic.discovery.found import Found
from scenemosaic.errors import InputError
from scenemosaic.stores.port import Store

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Schedule:
    """Of several that run at once under one name, each keeps what the others have seen."""

    mutable: Mutable

    def read(self) -> Cursor:
        """The cursor as it stands; a new one where there is none.

        One that is ahead of the clock goes back to where it was before that time was seen.
        """
        standing = load(self.mutable.read().data, self.mutable.uri)
        believed = standing.believed(self._until())
        if believed != standing:
            _log.warning(
                "%s had come to %s, which is ahead of this machine's clock: what came since %s "
                "is looked at again",
                *(self.mutable.uri, standing.newest, believed.newest or "the beginning"),
            )
        return believed

    def advance(
        self, handled: Iterable[Found], waiting: Iterable[Found], run_id: str
    ) -> Changed[Cursor]:
        """Note what was handled; what is ``waiting`` stays new. Writes nothing where it is known.

        Raises Contended where others were always first: what was handled is found again then,
        and there already. InputError where the cursor grows too large, StoreError as stores do.
        """
        done, kept, until = list(handled), list(waiting), self._until()

        def swap(data: bytes | None, write_id: str) -> tuple[bytes | None, Cursor]:
            standing = load(data, self.mutable.uri)
            moved = standing.believed(until).after(done, kept, until)
            return (None if moved == standing else self._dump(moved, write_id)), moved

        return self.mutable.change(swap, run_id)

    def _until(self) -> str:
        return latest_believed(self.mutable.effects.now())

    def _dump(self, cursor: Cursor, write_id: str) -> bytes:
        data = cursor.dump(write_id)
        if len(data) > MAX_CURSOR_BYTES:
            raise InputError(
                f"{self.mutable.uri} would have {len(data)} bytes, more than {MAX_CURSOR_BYTES}: "
                "give each of several schedules a part of the prefix"
            )
        return data


def open_schedule(
    store: Store, name: str, policy: RetryPolicy = PATIENCE, effects: Effects | None = None
) -> Schedule:
    """The schedule ``name`` of an open store; makes no request. InputError for no usable name."""
    return Schedule(
        Mutable(
            store,
            keys.ingest_key(name),
            max_bytes=MAX_CURSOR_BYTES,
            policy=policy,
            effects=effects or system_effects(),
        )
    )

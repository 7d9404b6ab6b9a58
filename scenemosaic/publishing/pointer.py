"""``latest.json`` and the catalog in the store: read by anybody, written by who holds the ledger.

A holder that was cleared and comes back cannot write over a newer ``latest.json``: that is
read first, then the ledger is asked once more, and the write matches what was read.
"""

from dataclasses import dataclass

from scenemosaic import keys
from scenemosaic.committing.mutable import Changed, Mutable
from scenemosaic.errors import LeaseCleared
from scenemosaic.ledger.book import Book
from scenemosaic.ledger.state import State
from scenemosaic.publishing import latest
from scenemosaic.publishing import ledger_words as words
from scenemosaic.publishing.latest import Latest, Target
from scenemosaic.stores.port import Store


def read_latest(store: Store) -> Latest | None:
    """What ``latest.json`` says. Raises ForeignObject where that is nothing of ours."""
    mutable = Mutable(store, keys.POINTER_KEY)
    data = mutable.read().data
    return None if data is None else latest.load(data, mutable.uri)


@dataclass(frozen=True, slots=True)
class Pointer:
    """Both documents in the hands of one run of the ledger.

    What writes raises LeaseCleared where that run does not hold the ledger (any more).
    """

    book: Book
    run_id: str

    def look(self) -> tuple[Latest | None, bytes | None]:
        """Latest and catalog, so that nothing unreadable is found only once the ledger is held."""
        data, before = self._catalog.read().data, read_latest(self.book.mutable.store)
        if data is not None:
            latest.listed(data, self._catalog.uri)
        return before, data

    def is_listed(self, stands: Latest, catalog: bytes | None) -> bool:
        """Whether a catalog of these bytes names what stands already."""
        return latest.catalog(catalog, stands, self._catalog.uri) == catalog

    def move(self, target: Target) -> Changed[Latest]:
        """Let ``latest.json`` name the target; unchanged where this run has done so."""
        pointer = self._mutable(keys.POINTER_KEY)

        def decide(data: bytes | None, write_id: str) -> tuple[bytes | None, Latest]:
            before = None if data is None else latest.load(data, pointer.uri)
            if before is not None and (before.run_id, before.target) == (self.run_id, target):
                return None, before
            revision = (self.book.name, self._held().revision)
            after = latest.after(before, target, self.run_id, revision, self.book.now())
            return latest.dump(after), after

        return pointer.change(decide, self.run_id)

    def list_in_catalog(self, now: Latest) -> Changed[None]:
        """Let the catalog name what is published now; unchanged where it does."""

        def decide(data: bytes | None, write_id: str) -> tuple[bytes | None, None]:
            wanted = latest.catalog(data, now, self._catalog.uri)
            if wanted == data:
                return None, None
            self._held()
            return wanted, None

        return self._catalog.change(decide, self.run_id)

    @property
    def _catalog(self) -> Mutable:
        return self._mutable(keys.CATALOG_KEY)

    def _mutable(self, key: str) -> Mutable:
        return Mutable(self.book.mutable.store, key, effects=self.book.mutable.effects)

    def _held(self) -> State:
        """The ledger, which this run still holds."""
        state = self.book.read()
        if state.active is None or state.active.run_id != self.run_id:
            entry = state.entry_of(self.run_id)
            raise LeaseCleared(words.cleared(self.book, self.run_id, entry))
        return state

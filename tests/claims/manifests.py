"""Faults as wrappers of a real manifest."""

from collections.abc import Callable
from typing import TypeVar

from scenemosaic.errors import TransientStoreError
from scenemosaic.manifests.port import Existing, Inserted, Manifest, Row, Stale, Updated

T = TypeVar("T")


class Passing:
    """Passes the verbs that claims need on to a real manifest."""

    def __init__(self, inner: Manifest) -> None:
        self.inner, self.url = inner, inner.url

    def get(self, partition: str, window: str) -> Row | None:
        return self.inner.get(partition, window)

    def insert(self, row: Row) -> Inserted | Existing:
        return self.inner.insert(row)

    def replace(self, row: Row, revision: int) -> Updated | Stale:
        return self.inner.replace(row, revision)


class LosesReplies(Passing):
    """The first ``lost`` writes land (or not), and their replies are lost."""

    def __init__(self, inner: Manifest, lost: int = 1, lands: bool = True) -> None:
        super().__init__(inner)
        self.lost, self.lands = lost, lands

    def insert(self, row: Row) -> Inserted | Existing:
        return self._lose(lambda: self.inner.insert(row))

    def replace(self, row: Row, revision: int) -> Updated | Stale:
        return self._lose(lambda: self.inner.replace(row, revision))

    def _lose(self, write: Callable[[], T]) -> T:
        if self.lost == 0:
            return write()
        self.lost -= 1
        if self.lands:
            write()
        raise TransientStoreError("reply lost")

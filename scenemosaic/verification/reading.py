"""The bytes of one version of an object: in chunks, hashed as they pass."""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from scenemosaic.committing.commit import retrying
from scenemosaic.crc32 import crc32
from scenemosaic.errors import IncompleteError, NotAnObject
from scenemosaic.session import Session
from scenemosaic.stores.port import ObjectInfo

CHUNK_BYTES = 4 << 20

Read = Callable[[int, int], bytes]


class Replaced(IncompleteError):
    """The object was replaced or deleted while it was read: look again."""

    kind = "replaced"


def reader(session: Session, info: ObjectInfo) -> Read:
    """``read(offset, size)`` of exactly the version that ``info`` describes."""

    def get(offset: int, size_bytes: int) -> bytes:
        try:
            data = retrying(
                lambda: session.store.get(info.key, offset, size_bytes, info.etag),
                session.policy,
                session.effects,
            )
        except (IncompleteError, NotAnObject) as error:  # it was a sound object just now
            raise Replaced(str(error)) from error
        if len(data) != size_bytes:
            uri = session.store.object_uri(info.key)
            raise Replaced(f"{uri} ends early: {len(data)} of {size_bytes} bytes were read")
        return data

    return get


def joined(read: Read, extents: Sequence[tuple[int, int]]) -> Read:
    """``read(offset, size)`` of the bytes of ``extents`` (start, end), one behind the other."""

    def get(offset: int, size_bytes: int) -> bytes:
        pieces, passed = [], 0
        for start, end in extents:
            first = max(offset - passed, 0)
            last = min(offset + size_bytes - passed, end - start)
            if first < last:
                pieces.append(read(start + first, last - first))
            passed += end - start
        return b"".join(pieces)

    return get


def gathered(read: Read, extents: Sequence[tuple[int, int]]) -> bytes:
    """The bytes of ``extents`` (start, end), one behind the other; neighbours are read together."""
    found: dict[int, memoryview] = {}
    for start, end in _merged(sorted(extents)):
        found[start] = memoryview(read(start, end - start))
    starts = sorted(found)
    pieces = []
    for start, end in extents:
        base = starts[bisect_right(starts, start) - 1]
        pieces.append(found[base][start - base : end - base])
    return b"".join(pieces)


def _merged(extents: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Each stretch of extents that touch, as one."""
    first, last = extents[0]
    for start, end in extents[1:]:
        if start > last:
            yield first, last
            first = start
        last = max(last, end)
    yield first, last


class Stream:
    """The bytes from ``start`` to ``end``, once, in order; memory holds one chunk.

    ``first`` are bytes at ``start`` that were read before; ``digest`` takes all that passes.
    """

    def __init__(
        self, read: Read, start: int, end: int, first: bytes = b"", digest: Any = None
    ) -> None:
        self._read = read
        self._left = memoryview(first)[: end - start]
        self._position = start + len(self._left)
        self._end = end
        self._digest = digest

    def take(self, size_bytes: int) -> bytes:
        """The next bytes, exactly so many."""
        return b"".join(self.pieces(size_bytes))

    def pieces(self, size_bytes: int) -> Iterator[memoryview]:
        """The same without joining them."""
        while size_bytes:
            if not self._left:
                length = min(CHUNK_BYTES, self._end - self._position)
                self._left = memoryview(self._read(self._position, length))
                self._position += length
            piece, self._left = self._left[:size_bytes], self._left[size_bytes:]
            size_bytes -= len(piece)
            if self._digest is not None:
                self._digest.update(piece)
            yield piece

    def crc(self, size_bytes: int) -> int:
        """The CRC-32 of the next bytes."""
        crc = 0
        for piece in self.pieces(size_bytes):
            crc = crc32(piece, crc)
        return crc

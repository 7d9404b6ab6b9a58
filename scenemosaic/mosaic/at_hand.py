"""The short runs of a tile: read once, in one request, where they would be read again to be sent.

The smallest run of a tile is decoded for the levels above. What follows it and is too short for
the store to copy passes through this process as well, and lies next to it in the tile.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Final

from scenemosaic.mosaic.pieces import Fetch, Piece, PieceLevel
from scenemosaic.mosaic.stitch import StoredTile
from scenemosaic.stores.port import CopyRun, Segment

KEPT_BYTES: Final = 40 << 20


@dataclass(frozen=True, slots=True)
class AtHand:
    """What is read of which tiles at once, and kept: at most :data:`KEPT_BYTES` in all.

    ``ends`` says by key up to where; such a tile is read from its smallest run on.
    """

    ends: Mapping[str, int]
    _kept: dict[str, tuple[int, memoryview]] = field(default_factory=dict, repr=False)

    def fetching(self, fetch: Fetch) -> Fetch:
        """``fetch``, which reads such a tile's runs by one request, and keeps them."""

        def once(segment: Segment) -> bytes:
            if not isinstance(segment, CopyRun) or not self._has(segment):
                return fetch(segment)
            if self._part(segment) is None:
                whole = replace(segment, size_bytes=self.ends[segment.key] - segment.offset)
                self._kept[segment.key] = segment.offset, memoryview(fetch(whole))
            part = self._part(segment)
            return fetch(segment) if part is None else bytes(part)

        return once

    def filled(self, level: PieceLevel) -> PieceLevel:
        """The level, whose runs that are at hand bring their bytes with them."""
        if not self._kept:
            return level
        return replace(level, pieces=[self._filled(piece) for piece in level.pieces])

    def _filled(self, piece: Piece) -> Piece:
        match piece.source:
            case CopyRun() as run if (part := self._part(run)) is not None:
                return replace(piece, source=replace(run, data=part))
            case _:
                return piece

    def _has(self, run: CopyRun) -> bool:
        """Whether a run is among those that are kept: the preview may ask for a longer one."""
        return run.offset + run.size_bytes <= self.ends.get(run.key, 0)

    def _part(self, run: CopyRun) -> memoryview | None:
        if run.key not in self._kept:
            return None
        start, data = self._kept[run.key]
        at = run.offset - start
        found = data[at : at + run.size_bytes] if at >= 0 else data[:0]
        return found if len(found) == run.size_bytes else None


def at_hand(tiles: Sequence[StoredTile], least_bytes: int, kept_bytes: int = KEPT_BYTES) -> AtHand:
    """For a store that copies runs of ``least_bytes`` and more by itself."""
    ends: dict[str, int] = {}
    for tile in tiles:
        start, end = _short_runs(tile, least_bytes)
        kept_bytes -= end - start
        if kept_bytes < 0:
            break
        if end > start:
            ends[tile.key] = end
    return AtHand(ends)


def _short_runs(tile: StoredTile, least_bytes: int) -> tuple[int, int]:
    """Where those of a tile's runs begin and end that are too short, from the smallest one on."""
    bounds = [*reversed(tile.run_offsets()), tile.row.bytes]
    long = (start for start, end in pairwise(bounds) if end - start >= least_bytes)
    return bounds[0], next(long, tile.row.bytes)

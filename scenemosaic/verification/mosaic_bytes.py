"""The bytes of a mosaic, read once, against the rows of its windows and its own digest."""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from scenemosaic.machine.parallel import in_parallel
from scenemosaic.manifests.port import Row
from scenemosaic.recipes.recipe import Recipe
from scenemosaic.tiff.block_check import Decoder
from scenemosaic.tiff.structure import block_arrays, read_directories
from scenemosaic.tiff.template import template_from_directories
from scenemosaic.tile import level_shape
from scenemosaic.verification.blocks import pass_run
from scenemosaic.verification.mosaic_map import MosaicMap, Segment
from scenemosaic.verification.reading import CHUNK_BYTES, Read, Stream, gathered, joined
from scenemosaic.verification.rules import NAMED

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Passed:
    """One run as its bytes are."""

    level: int
    grid: int
    run: int
    crc: int
    sha256: str
    undecodable: tuple[str, ...]


@dataclass(slots=True)
class MosaicBytes:
    """A mosaic whose directories are sound, and what its windows' rows say of it."""

    read: Read
    size_bytes: int
    map: MosaicMap
    decoder: Decoder
    _crc: dict[int, tuple[int, ...]] = field(default_factory=dict)
    _sha256: dict[int, str | None] = field(default_factory=dict)
    _other: set[int] = field(default_factory=set)

    def add(self, number: int, row: Row) -> None:
        """Note the row of a window."""
        self._crc[number], self._sha256[number] = row.crc, row.sha256
        if self.map.disagrees(number, row):
            self._other.add(number)

    def check(self, *, deep: bool, workers: int, progress: Progress) -> "Verdict":
        """Read it all, ``workers`` chunks at a time."""
        decoder = self.decoder if deep else None
        verdict, done = Verdict(), self.map.front_bytes
        progress(0, self.size_bytes)
        lines: dict[tuple[int, int], list[bytes]] = {}
        for passed, size_bytes in in_parallel(
            lambda batch: self._pass(batch, decoder), self._batches(), workers
        ):
            done += size_bytes
            progress(min(done, self.size_bytes), self.size_bytes)
            for one in passed:
                self._judge(one, verdict)
                lines.setdefault((one.level, one.grid), []).append(self._line(one))
        verdict.windows |= self._other
        verdict.digests = set(self._digests(lines))
        return verdict

    def _judge(self, one: Passed, verdict: "Verdict") -> None:
        if one.grid == 0:
            verdict.bad_blocks += len(one.undecodable)
            named = [f"level {one.level}, {block}" for block in one.undecodable]
            verdict.undecodable += named[: NAMED - len(verdict.undecodable)]
        known = self._crc.get(one.run) if one.level <= self.map.tile_levels else None
        if known is not None and known[one.level : one.level + 1] != (one.crc,):
            verdict.windows.add(one.run)

    def _line(self, one: Passed) -> bytes:
        """What the mosaic's digest takes of a run."""
        if one.level > self.map.tile_levels:
            return f"{one.sha256}\n".encode()
        return f"{self._sha256.get(one.run)}:{one.level}\n".encode()

    def _digests(self, lines: Mapping[tuple[int, int], list[bytes]]) -> Iterator[str]:
        """The digests that the bytes may stand for: a narrow level can be cut in several ways."""
        front = hashlib.sha256(self.read(0, self.map.front_bytes))
        for way in self.map.ways():
            digest = front.copy()
            for level, grid in reversed(list(enumerate(way))):
                digest.update(b"".join(lines.get((level, grid), ())))
            yield digest.hexdigest()

    def _batches(self) -> Iterator[list[tuple[int, Segment]]]:
        """Runs that are together as long as a chunk, in order."""
        batch: list[tuple[int, Segment]] = []
        size_bytes = 0
        for grid, segment in self._segments():
            size_bytes += segment.size_bytes
            if batch and size_bytes > CHUNK_BYTES:
                yield batch
                batch, size_bytes = [], segment.size_bytes
            batch.append((grid, segment))
        if batch:
            yield batch

    def _segments(self) -> Iterator[tuple[int, Segment]]:
        for level in reversed(range(len(self.map.grids))):
            for number, grid in enumerate(self.map.grids[level]):
                for segment in self.map.segments(level, grid):
                    yield number, segment

    def _pass(
        self, batch: list[tuple[int, Segment]], decoder: Decoder | None
    ) -> tuple[list[Passed], int]:
        extents = [extent for _, one in batch for extent in one.extents]
        size_bytes = sum(end - start for start, end in extents)
        read = joined(self.read, extents)
        first = gathered(self.read, extents) if size_bytes <= CHUNK_BYTES else b""
        passed, start = [], 0
        for grid, one in batch:
            end = start + one.size_bytes
            digest = hashlib.sha256() if one.level > self.map.tile_levels else None
            stream = Stream(read, start, end, first[start:end], digest)
            start = end
            shape = self.map.levels[one.level].shape
            crc, wrong = pass_run(stream, shape, one.sizes, decoder, one.indices)
            sha256 = digest.hexdigest() if digest else ""
            passed.append(Passed(one.level, grid, one.run, crc, sha256, tuple(wrong)))
        return passed, size_bytes


@dataclass(slots=True)
class Verdict:
    """What the bytes came to.

    ``windows`` are those whose runs are not what their rows say; ``undecodable`` names the
    first few of ``bad_blocks`` blocks; ``digests`` are what the mosaic's digest may be, if all
    rows are those that it was built from.
    """

    windows: set[int] = field(default_factory=set)
    undecodable: list[str] = field(default_factory=list)
    bad_blocks: int = 0
    digests: set[str] = field(default_factory=set)


def open_mosaic(read: Read, size_bytes: int, recipe: Recipe) -> MosaicBytes:
    """The mosaic whose bytes ``read`` gives. Raises BadTiff where it is no mosaic of the recipe."""
    tiling = recipe.tiling()
    shapes = [level_shape(recipe, *tiling.size_at(k)) for k in range(tiling.last_level + 1)]
    directories = read_directories(read, size_bytes, shapes)
    levels = block_arrays(directories, shapes)
    return MosaicBytes(
        read,
        size_bytes,
        MosaicMap(recipe, levels, size_bytes),
        Decoder(recipe, template_from_directories(directories)),
    )

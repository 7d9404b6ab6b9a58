"""Which parts make a composed object on S3. Pure: segments in, parts out.

A run of 5 MiB or more is copied inside the store; what is shorter is gathered into
uploaded parts. S3 wants every part but the last to have at least 5 MiB, so a copy
run may lend its head to a gathered part before it.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from scenemosaic.errors import InputError
from scenemosaic.stores.port import Copying, CopyRun, FileSlice, Literal, Segment

MIN_PART_BYTES = 5 << 20
MAX_COPY_BYTES = 5 << 30
GATHER_BYTES = 16 << 20
MAX_PARTS = 10_000
# Shorter runs would pass through here; and all levels have to fit one upload's parts.
COPYING = Copying(MIN_PART_BYTES, MAX_PARTS // 2)


@dataclass(frozen=True, slots=True)
class CopyPart:
    """A part that S3 copies by itself."""

    run: CopyRun

    @property
    def size_bytes(self) -> int:
        return self.run.size_bytes


@dataclass(frozen=True, slots=True)
class UploadPart:
    """A part whose bytes pass through this process: at most ``GATHER_BYTES`` of them."""

    pieces: tuple[Segment, ...]

    @property
    def size_bytes(self) -> int:
        return sum(piece.size_bytes for piece in self.pieces)


Part = CopyPart | UploadPart


@dataclass(frozen=True, slots=True)
class Limits:
    """The store's limits in bytes; GATHER at least twice MIN, so that lending always fits."""

    min_part_bytes: int = MIN_PART_BYTES
    max_copy_bytes: int = MAX_COPY_BYTES
    gather_bytes: int = GATHER_BYTES
    max_parts: int = MAX_PARTS

    def __post_init__(self) -> None:
        if self.gather_bytes < 2 * self.min_part_bytes:
            raise InputError(f"gathered parts must reach twice the smallest part: {self}")
        if self.max_copy_bytes < 2 * self.min_part_bytes:
            raise InputError(f"copied parts must reach twice the smallest part: {self}")


S3_LIMITS = Limits()


def plan_parts(segments: Sequence[Segment], limits: Limits = S3_LIMITS) -> list[Part]:
    """The parts, in order; together exactly the bytes of ``segments``. Empty for no bytes.

    Raises InputError where there would be more parts than the store takes.
    """
    parts = _parts(segments, limits)
    if len(parts) > limits.max_parts:
        raise InputError(
            f"the object would need {len(parts)} parts and S3 takes {limits.max_parts}; "
            "use larger windows"
        )
    return parts


def _parts(segments: Sequence[Segment], limits: Limits) -> list[Part]:
    planner = _Planner(limits)
    for segment in segments:
        planner.add(segment)
    return planner.finish()


def in_stages(
    segments: Sequence[Segment], limits: Limits = S3_LIMITS
) -> Iterator[tuple[Segment, ...]]:
    """The segments in order: alone, or as several runs that have to be one object first.

    Each such object is long enough to be copied as a single part. None is needed where all
    of ``segments`` fit the parts that the store takes.
    """
    if len(_parts(segments, limits)) <= limits.max_parts:
        yield from ((segment,) for segment in segments)
        return
    runs: list[CopyRun] = []
    size_bytes = 0
    for segment in segments:
        is_run = isinstance(segment, CopyRun)
        full = size_bytes + segment.size_bytes > limits.max_copy_bytes
        if not is_run or full or len(runs) == limits.max_parts // 2:
            yield from _stage(runs, limits)
            runs, size_bytes = [], 0
        if isinstance(segment, CopyRun):
            runs.append(segment)
            size_bytes += segment.size_bytes
        else:
            yield (segment,)
    yield from _stage(runs, limits)


def _stage(runs: Sequence[CopyRun], limits: Limits) -> Iterator[tuple[Segment, ...]]:
    long_enough = sum(run.size_bytes for run in runs) >= limits.min_part_bytes
    if len(runs) > 1 and long_enough:
        yield tuple(runs)
    else:
        yield from ((run,) for run in runs)


class _Planner:
    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._parts: list[Part] = []
        self._pieces: list[Segment] = []
        self._gathered_bytes = 0

    def add(self, segment: Segment) -> None:
        if isinstance(segment, CopyRun) and segment.size_bytes >= self._limits.min_part_bytes:
            self._add_run(segment)
        else:
            self._gather(segment)

    def finish(self) -> list[Part]:
        self._flush()
        return self._parts

    def _add_run(self, run: CopyRun) -> None:
        if 0 < self._gathered_bytes < self._limits.min_part_bytes:
            lent = self._limits.min_part_bytes - self._gathered_bytes
            if run.size_bytes - lent < self._limits.min_part_bytes:
                self._gather(run)
                return
            self._gather(cut(run, 0, lent))
            run = run.part(lent, run.size_bytes - lent, run.crc)
        self._flush()
        self._parts.extend(CopyPart(part) for part in _split(run, self._limits.max_copy_bytes))

    def _gather(self, segment: Segment) -> None:
        done = 0
        while done < segment.size_bytes:
            room = self._limits.gather_bytes - self._gathered_bytes
            count = min(room, segment.size_bytes - done)
            self._pieces.append(cut(segment, done, count))
            self._gathered_bytes += count
            done += count
            if self._gathered_bytes == self._limits.gather_bytes:
                self._flush()

    def _flush(self) -> None:
        if self._pieces:
            self._parts.append(UploadPart(tuple(self._pieces)))
        self._pieces, self._gathered_bytes = [], 0


def cut(segment: Segment, offset: int, size_bytes: int) -> Segment:
    """The ``size_bytes`` of a segment that begin ``offset`` bytes into it."""
    if offset == 0 and size_bytes == segment.size_bytes:
        return segment
    match segment:
        case Literal():
            return Literal(segment.data[offset : offset + size_bytes])
        case CopyRun():
            return segment.part(offset, size_bytes, segment.crc)
        case FileSlice():
            return replace(segment, offset=segment.offset + offset, size_bytes=size_bytes)


def _split(run: CopyRun, max_bytes: int) -> Iterable[CopyRun]:
    """Pieces of nearly equal size, so that none of them is too small."""
    count = -(-run.size_bytes // max_bytes)
    for number in range(count):
        start = run.size_bytes * number // count
        end = run.size_bytes * (number + 1) // count
        yield run.part(start, end - start, run.crc)

"""Runs: the blocks of one window at one level, one behind the other, as they are stored.

Blocks are ordered by plane, then row-major; the mask's blocks follow the image's. A
block of size 0 is sparse and takes no room. ``frame_bytes`` is what stands around each
block: nothing (0), or in jobs of ``encoding_version`` 1 a leader (its size as a
little-endian uint32) and a trailer (its last four bytes again), which makes 8. GDAL
reads neighbours with one request only where nothing lies between them, or where blocks
are row-major in the whole file, which a mosaic's are not always.

A *block row* of a run is what lies one behind the other of one plane, or of the mask, at one
height: the part of a run that a row-major level takes over whole.
"""

import functools
import hashlib
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from scenemosaic.crc32 import crc32, crc32_combine
from scenemosaic.tiff.ifd import BadTiff

Sizes = npt.NDArray[np.uint32]
Crcs = npt.NDArray[np.uint32]
FRAMED, BARE = 8, 0
# The second has the header's CRC-32 in front, the third those of the block rows, too.
_VERSIONS = (b"\x01", b"\x02", b"\x03")
_ROWS = struct.Struct("<?II")


@dataclass(frozen=True, slots=True)
class Run:
    """Encoded blocks as pieces to be joined, with each block's size and the whole's CRC-32.

    ``row_crcs`` are those of its block rows.
    """

    pieces: tuple[bytes, ...]
    sizes: Sizes
    crc: int
    row_crcs: tuple[int, ...]

    @property
    def size_bytes(self) -> int:
        return sum(len(piece) for piece in self.pieces)

    def sha256(self) -> str:
        """The SHA-256 of the run's bytes, as hex."""
        digest = hashlib.sha256()
        for piece in self.pieces:
            digest.update(piece)
        return digest.hexdigest()


def join(blocks: Sequence[bytes | None], frame_bytes: int, across: int | None = None) -> Run:
    """A run of encoded blocks, ``across`` in a block row (all by default); None is a sparse one."""
    pieces: list[bytes] = []
    row_crcs: list[int] = []
    crc = 0
    step = across or max(len(blocks), 1)
    for start in range(0, len(blocks), step):
        row = _framed(blocks[start : start + step], frame_bytes)
        row_crcs.append(functools.reduce(lambda crc, piece: crc32(piece, crc), row, 0))
        crc = crc32_combine(crc, row_crcs[-1], sum(map(len, row)))
        pieces += row
    sizes = np.array([0 if block is None else len(block) for block in blocks], np.uint32)
    return Run(tuple(pieces), sizes, crc, tuple(row_crcs))


def _framed(blocks: Sequence[bytes | None], frame_bytes: int) -> list[bytes]:
    stored = [block for block in blocks if block is not None]
    if not frame_bytes:
        return stored
    framed = [(struct.pack("<I", len(block)), block, block[-4:]) for block in stored]
    return [piece for pieces in framed for piece in pieces]


def run_bytes(sizes: Sizes, frame_bytes: int) -> int:
    """The length in bytes of a run of blocks of these sizes."""
    length = int(sizes.sum(dtype=np.int64))
    return length + frame_bytes * int(np.count_nonzero(sizes)) if frame_bytes else length


def row_bytes(sizes: Sizes, across: int, frame_bytes: int) -> npt.NDArray[np.int64]:
    """The length in bytes of each block row of a run."""
    rows = sizes.reshape(-1, across)
    lengths: npt.NDArray[np.int64] = rows.sum(axis=1, dtype=np.int64)
    return lengths + frame_bytes * np.count_nonzero(rows, axis=1) if frame_bytes else lengths


def block_offsets(sizes: Sizes, start: int, frame_bytes: int) -> npt.NDArray[np.uint64]:
    """Where each block of a run begins in the file, the run beginning at ``start``; 0 if sparse."""
    present = sizes > 0
    framed = np.where(present, sizes.astype(np.uint64) + np.uint64(frame_bytes), np.uint64(0))
    before = np.cumsum(framed) - framed
    return np.where(present, before + np.uint64(start + frame_bytes // 2), np.uint64(0))


@dataclass(frozen=True, slots=True)
class Packed:
    """What a manifest row says of a tile's blocks.

    ``sizes`` by level, level 0 first; ``header_crc`` is the CRC-32 of what stands in front
    of the runs, ``row_crcs`` those of all block rows, level 0 first; None in earlier rows.
    """

    sizes: tuple[Sizes, ...]
    header_crc: int | None
    row_crcs: Crcs | None = None


def pack(packed: Packed) -> bytes:
    """The ``blocks`` of a manifest row."""
    body = zlib.compress(b"".join(sizes.astype("<u4").tobytes() for sizes in packed.sizes))
    header_crc, row_crcs = packed.header_crc, packed.row_crcs
    if row_crcs is not None:
        front = _ROWS.pack(header_crc is not None, header_crc or 0, row_crcs.size)
        return _VERSIONS[2] + front + row_crcs.astype("<u4").tobytes() + body
    if header_crc is not None:
        return _VERSIONS[1] + struct.pack("<I", header_crc) + body
    return _VERSIONS[0] + body


def unpack(data: bytes, counts: Sequence[int]) -> Packed:
    """The inverse of :func:`pack`; ``counts`` are the numbers of blocks of each level.

    Raises :class:`BadTiff` where the row holds something else.
    """
    front, header_crc, row_crcs = _front(data)
    expected = 4 * sum(counts)
    unpacker = zlib.decompressobj()
    try:
        raw = unpacker.decompress(data[front:], expected + 1)
    except zlib.error as error:
        raise BadTiff(f"the row's block sizes cannot be unpacked: {error}") from error
    if data[:1] not in _VERSIONS or len(raw) != expected:
        raise BadTiff(f"the row's block sizes are not those of {sum(counts)} blocks")
    flat = np.frombuffer(raw, "<u4").astype(np.uint32)
    # A view is as large as a few sizes: of one level alone, and of many tiles, that is much.
    cut = (flat[end - count : end] for end, count in zip(accumulate(counts), counts, strict=True))
    return Packed((flat,) if len(counts) == 1 else tuple(cut), header_crc, row_crcs)


def _front(data: bytes) -> tuple[int, int | None, Crcs | None]:
    """How long what stands in front of the sizes is, and the CRCs in it."""
    if data[:1] == _VERSIONS[1]:
        return 5, int.from_bytes(data[1:5], "little"), None
    if data[:1] != _VERSIONS[2]:
        return 1, None, None
    rows = 1 + _ROWS.size
    has_header, header_crc, count = _ROWS.unpack(data[1:rows].ljust(_ROWS.size, b"\0"))
    found = np.frombuffer(data[rows : rows + 4 * count].ljust(4, b"\0"), np.uint8)
    if found.size < 4 * count:
        raise BadTiff("the row's checksums of block rows are cut short")
    crcs = found[: 4 * count].view("<u4").astype(np.uint32)
    return rows + 4 * count, header_crc if has_header else None, crcs

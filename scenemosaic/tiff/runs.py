"""Runs: the blocks of one window at one level, one behind the other, as they are stored.

Blocks are ordered by plane, then row-major; the mask's blocks follow the image's. A
block of size 0 is sparse and takes no room. ``frame_bytes`` is what stands around each
block: nothing (0), or in jobs of ``encoding_version`` 1 a leader (its size as a
little-endian uint32) and a trailer (its last four bytes again), which makes 8. GDAL
reads neighbours with one request only where nothing lies between them, or where blocks
are row-major in the whole file, which a mosaic's are not.
"""

import hashlib
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from isal import isal_zlib

from scenemosaic.tiff.ifd import BadTiff

Sizes = npt.NDArray[np.uint32]
FRAMED, BARE = 8, 0
# The second has the header's CRC-32 in front.
_VERSIONS = (b"\x01", b"\x02")


@dataclass(frozen=True, slots=True)
class Run:
    """Encoded blocks as pieces to be joined, with each block's size and the whole's CRC-32."""

    pieces: tuple[bytes, ...]
    sizes: Sizes
    crc: int

    @property
    def size_bytes(self) -> int:
        return sum(len(piece) for piece in self.pieces)

    def sha256(self) -> str:
        """The SHA-256 of the run's bytes, as hex."""
        digest = hashlib.sha256()
        for piece in self.pieces:
            digest.update(piece)
        return digest.hexdigest()


def join(blocks: Sequence[bytes | None], frame_bytes: int) -> Run:
    """A run of encoded blocks; None is a sparse block."""
    pieces: list[bytes] = []
    crc = 0
    for block in blocks:
        if block is not None:
            leader = struct.pack("<I", len(block))
            framed = (leader, block, block[-4:]) if frame_bytes else (block,)
            pieces += framed
            for piece in framed:
                crc = isal_zlib.crc32(piece, crc)
    sizes = np.array([0 if block is None else len(block) for block in blocks], np.uint32)
    return Run(tuple(pieces), sizes, crc)


def run_bytes(sizes: Sizes, frame_bytes: int) -> int:
    """The length in bytes of a run of blocks of these sizes."""
    return int(sizes.sum(dtype=np.int64)) + frame_bytes * int(np.count_nonzero(sizes))


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
    of the runs, None in earlier rows.
    """

    sizes: tuple[Sizes, ...]
    header_crc: int | None


def pack(packed: Packed) -> bytes:
    """The ``blocks`` of a manifest row."""
    body = zlib.compress(b"".join(sizes.astype("<u4").tobytes() for sizes in packed.sizes))
    if packed.header_crc is None:
        return _VERSIONS[0] + body
    return _VERSIONS[1] + struct.pack("<I", packed.header_crc) + body


def unpack(data: bytes, counts: Sequence[int]) -> Packed:
    """The inverse of :func:`pack`; ``counts`` are the numbers of blocks of each level.

    Raises :class:`BadTiff` where the row holds something else.
    """
    expected = 4 * sum(counts)
    front = 5 if data[:1] == _VERSIONS[1] else 1
    unpacker = zlib.decompressobj()
    try:
        raw = unpacker.decompress(data[front:], expected + 1)
    except zlib.error as error:
        raise BadTiff(f"the row's block sizes cannot be unpacked: {error}") from error
    if data[:1] not in _VERSIONS or len(raw) != expected:
        raise BadTiff(f"the row's block sizes are not those of {sum(counts)} blocks")
    flat = np.frombuffer(raw, "<u4").astype(np.uint32)
    crc = int.from_bytes(data[1:front], "little") if front > 1 else None
    return Packed(tuple(np.split(flat, np.cumsum(counts)[:-1])), crc)

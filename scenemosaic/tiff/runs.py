"""Runs: the blocks of one window at one level, one behind the other, as they are stored.

Each block stands between a leader (its size as a little-endian uint32) and a
trailer (its last four bytes again), as GDAL's COG driver writes them. A block of
size 0 is sparse and takes no room. Blocks are ordered by plane, then row-major;
the mask's blocks follow the image's.
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
FRAME_BYTES = 8
_LEADER_BYTES = 4
_VERSION = b"\x01"


@dataclass(frozen=True, slots=True)
class Run:
    """Encoded blocks as pieces to be joined, with each block's size and the whole's CRC-32."""

    pieces: tuple[bytes, ...]
    sizes: Sizes
    crc: int

    def sha256(self) -> str:
        """The SHA-256 of the run's bytes, as hex."""
        digest = hashlib.sha256()
        for piece in self.pieces:
            digest.update(piece)
        return digest.hexdigest()


def frame(blocks: Sequence[bytes | None]) -> Run:
    """A run of encoded blocks; None is a sparse block."""
    pieces: list[bytes] = []
    crc = 0
    for block in blocks:
        if block is not None:
            framed = (struct.pack("<I", len(block)), block, block[-4:])
            pieces += framed
            for piece in framed:
                crc = isal_zlib.crc32(piece, crc)
    sizes = np.array([0 if block is None else len(block) for block in blocks], np.uint32)
    return Run(tuple(pieces), sizes, crc)


def run_bytes(sizes: Sizes) -> int:
    """The length in bytes of a run of blocks of these sizes."""
    return int(sizes.sum(dtype=np.int64)) + FRAME_BYTES * int(np.count_nonzero(sizes))


def block_offsets(sizes: Sizes, start: int) -> npt.NDArray[np.uint64]:
    """Where each block of a run begins in the file, the run beginning at ``start``; 0 if sparse."""
    present = sizes > 0
    framed = np.where(present, sizes.astype(np.uint64) + np.uint64(FRAME_BYTES), np.uint64(0))
    before = np.cumsum(framed) - framed
    return np.where(present, before + np.uint64(start + _LEADER_BYTES), np.uint64(0))


def pack_sizes(levels: Sequence[Sizes]) -> bytes:
    """The block sizes of all levels of a tile, level 0 first, for its manifest row."""
    return _VERSION + zlib.compress(b"".join(sizes.astype("<u4").tobytes() for sizes in levels))


def unpack_sizes(packed: bytes, counts: Sequence[int]) -> list[Sizes]:
    """The inverse of :func:`pack_sizes`; ``counts`` are the numbers of blocks of each level.

    Raises :class:`BadTiff` where the row holds something else.
    """
    expected = 4 * sum(counts)
    unpacker = zlib.decompressobj()
    try:
        raw = unpacker.decompress(packed[1:], expected + 1)
    except zlib.error as error:
        raise BadTiff(f"the row's block sizes cannot be unpacked: {error}") from error
    if packed[:1] != _VERSION or len(raw) != expected:
        raise BadTiff(f"the row's block sizes are not those of {sum(counts)} blocks")
    flat = np.frombuffer(raw, "<u4").astype(np.uint32)
    return np.split(flat, np.cumsum(counts)[:-1])

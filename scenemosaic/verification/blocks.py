"""Blocks as they pass: the CRC-32 of a run, and which of its blocks do not decode."""

import struct

import numpy as np
import numpy.typing as npt

from scenemosaic.crc32 import crc32
from scenemosaic.tiff.block_check import Decoder, Undecodable
from scenemosaic.tiff.layout import LevelShape
from scenemosaic.tiff.runs import Sizes, run_bytes
from scenemosaic.tiff.structure import block_name
from scenemosaic.verification.reading import Stream

Indices = npt.NDArray[np.int64]


def pass_run(
    stream: Stream,
    shape: LevelShape,
    sizes: Sizes,
    decoder: Decoder | None,
    indices: Indices | None = None,
) -> tuple[int, list[str]]:
    """The CRC-32 of the blocks that come next, and what is wrong with which of them.

    ``indices`` are their places in the arrays of their level, of ``shape``; left out, they
    are all of it. Without a ``decoder`` blocks are not looked at.
    """
    if decoder is None:
        return stream.crc(run_bytes(sizes, shape.frame_bytes)), []
    places = np.arange(sizes.size) if indices is None else indices
    crc, wrong = 0, list[str]()
    for index, size in zip(places.tolist(), sizes.tolist(), strict=True):
        if not size:
            continue
        framed = stream.take(size + shape.frame_bytes)
        crc = crc32(framed, crc)
        try:
            block = _unframed(framed) if shape.frame_bytes else framed
            (decoder.mask if index >= shape.image_blocks else decoder.image)(block)
        except Undecodable as error:
            wrong.append(f"{block_name(shape, index)}: {error}")
    return crc, wrong


def _unframed(framed: bytes) -> bytes:
    block = framed[4:-4]
    if framed[:4] != struct.pack("<I", len(block)) or framed[-4:] != block[-4:]:
        raise Undecodable("its leader or trailer is not its own")
    return block

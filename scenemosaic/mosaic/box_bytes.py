"""A box as an object: header, the exact pixels that assembly needs, then the mosaic's runs.

The header is a magic number, the CRC-32 and the length of the rest of it, which is the CRC-32 of
each run, the SHA-256 of each of the mosaic's, and all block sizes, packed. Shapes are not in it:
the recipe says them. Header and exact runs together are the box's front, which assembly reads.
"""

import logging
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

import numpy as np

from scenemosaic.crc32 import crc32
from scenemosaic.errors import IncompleteError
from scenemosaic.mosaic.pieces import Mask, Pixels
from scenemosaic.mosaic.top import Box, Made, StoredRun
from scenemosaic.mosaic.top_boxes import exact_coding, exact_levels, shapes_of
from scenemosaic.recipes.recipe import Recipe
from scenemosaic.stores.port import CopyRun
from scenemosaic.tiff.decode import decode_run
from scenemosaic.tiff.ifd import BadTiff
from scenemosaic.tiff.layout import LevelShape
from scenemosaic.tiff.runs import Crcs, Packed, Run, Sizes, pack, run_bytes, unpack
from scenemosaic.tile import block_coding

_log = logging.getLogger(__name__)
_HEAD: Final = struct.Struct("<8sII")
_MAGIC: Final = b"SMTOPBX1"
_SHA256_BYTES: Final = 32
Get = Callable[[str, int, int, str], bytes]


@dataclass(frozen=True, slots=True)
class BoxBytes:
    """A box, and how many bytes of it are its front."""

    data: bytes
    front_bytes: int


@dataclass(frozen=True, slots=True)
class StandingBox:
    """A box that stands in the store."""

    key: str
    etag: str
    size_bytes: int
    front_bytes: int


StandingBoxes = Mapping[Box, StandingBox]
NO_BOXES: Final[StandingBoxes] = {}


@dataclass(frozen=True, slots=True)
class _Part:
    """One of the runs of a box: its level, and where in the box it lies."""

    level: int
    shape: LevelShape
    sizes: Sizes
    crc: int
    row_crcs: Crcs
    offset: int
    size_bytes: int

    @property
    def end(self) -> int:
        return self.offset + self.size_bytes

    def stored(self, box: StandingBox) -> StoredRun:
        source = CopyRun(box.key, box.etag, self.offset, self.size_bytes, self.crc)
        return StoredRun(source if self.size_bytes else None, self.sizes, self.crc, self.row_crcs)


def box_bytes(exact: Sequence[Run], runs: Sequence[Run], digests: Sequence[str]) -> BoxBytes:
    """A box of the exact runs and of the mosaic's, in the order of their levels.

    ``digests`` are the SHA-256 of the mosaic's runs.
    """
    every = (*exact, *runs)
    row_crcs = np.array([crc for run in every for crc in run.row_crcs], np.uint32)
    body = b"".join(
        [
            *map(bytes.fromhex, digests),
            np.array([run.crc for run in every], "<u4").tobytes(),
            pack(Packed(tuple(run.sizes for run in every), None, row_crcs)),
        ]
    )
    head = _HEAD.pack(_MAGIC, crc32(body), len(body))
    front = b"".join([head, body, *(piece for run in exact for piece in run.pieces)])
    return BoxBytes(b"".join([front, *(p for run in runs for p in run.pieces)]), len(front))


def ready_box(boxes: StandingBoxes, recipe: Recipe, get: Get, box: Box) -> list[Made] | None:
    """A box's levels as it stands, lowest first; None where it does not, or is not used.

    ``get`` is assembly's. A box that is gone, or is not what it should be, is a warning.
    """
    stands = boxes.get(box)
    if stands is None:
        return None
    try:
        front = get(stands.key, 0, stands.front_bytes, stands.etag)
        return made_of(front, stands, box, recipe)
    except IncompleteError as error:
        _log.warning("%s is not used, what it holds is made anew: %s", stands.key, error)
        return None


def made_of(front: bytes, stored: StandingBox, box: Box, recipe: Recipe) -> list[Made]:
    """The levels of a box, lowest first, whose runs stay where they are.

    Raises BadTiff where ``front`` is not the front of this box of this mosaic.
    """
    body, shapes, exact = _body(front), shapes_of(recipe, box), exact_levels(recipe, box)
    levels = [(level, shapes[level]) for level in (*exact, *shapes)]
    split = _SHA256_BYTES * len(shapes)
    parts = _parts(body[split:], levels, _HEAD.size + len(body))
    own = parts[len(exact) :]
    if (own[0].offset, parts[-1].end) != (len(front), stored.size_bytes):
        raise BadTiff("it is longer or shorter than its header says")
    images = {part.level: _pixels(part, front, recipe) for part in parts[: len(exact)]}
    nothing: Pixels = np.empty((recipe.bands, 0, 0), recipe.dtype)
    starts = range(0, split, _SHA256_BYTES)
    return [
        Made(
            *images.get(part.level, (nothing, None)),
            part.shape,
            part.stored(stored),
            body[start : start + _SHA256_BYTES].hex(),
        )
        for part, start in zip(own, starts, strict=True)
    ]


def _parts(data: bytes, levels: Sequence[tuple[int, LevelShape]], start: int) -> list[_Part]:
    shapes = [shape for _, shape in levels]
    crcs = np.frombuffer(data[: 4 * len(levels)].ljust(4 * len(levels)), "<u4").tolist()
    packed = unpack(data[4 * len(levels) :], [shape.blocks for shape in shapes])
    rows = np.cumsum([shape.block_rows for shape in shapes])
    if packed.row_crcs is None or packed.row_crcs.size != rows[-1]:
        raise BadTiff("its header lacks the checksums of its block rows")
    row_crcs = np.split(packed.row_crcs, rows[:-1])
    lengths = [
        run_bytes(sizes, shape.frame_bytes)
        for sizes, shape in zip(packed.sizes, shapes, strict=True)
    ]
    *starts, _ = accumulate(lengths, initial=start)
    found = zip(levels, packed.sizes, crcs, row_crcs, starts, lengths, strict=True)
    return [_Part(*level, *rest) for level, *rest in found]


def _body(front: bytes) -> bytes:
    if len(front) < _HEAD.size:
        raise BadTiff("its header is too short")
    magic, crc, length = _HEAD.unpack_from(front)
    body = front[_HEAD.size : _HEAD.size + length]
    if magic != _MAGIC or len(body) != length or crc32(body) != crc:
        raise BadTiff("it has no header of a top box, or a damaged one")
    return body


def _pixels(part: _Part, front: bytes, recipe: Recipe) -> tuple[Pixels, Mask | None]:
    data = front[part.offset : part.offset + part.size_bytes]
    if crc32(data) != part.crc:
        raise BadTiff(f"its exact pixels of level {part.level} are damaged")
    shape = part.shape
    pixels: Pixels = np.empty((recipe.bands, shape.height, shape.width), recipe.dtype)
    mask = np.empty((shape.height, shape.width), np.uint8) if recipe.has_mask else None
    coding = block_coding(exact_coding(recipe))
    decode_run(data, part.sizes, shape, coding, pixels, mask)
    return pixels, mask

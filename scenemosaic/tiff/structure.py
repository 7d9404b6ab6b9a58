"""What a file of ours says of its blocks, read from its directories. Pure."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from scenemosaic.tiff import ifd
from scenemosaic.tiff.ifd import BadTiff, Directory
from scenemosaic.tiff.layout import LevelShape, Offsets, Placed
from scenemosaic.tiff.runs import Sizes, run_bytes

N = TypeVar("N", np.uint32, np.uint64, np.int64)
_INTEGERS = {3: "<u2", 4: "<u4", 16: "<u8"}
_FIRST_READ = 64 << 10
# Before it stands a TIFF's magic, whatever frames its blocks.
_LEAST_OFFSET = 8
# All tags but the block arrays: metadata of the source may be long.
MAX_TAGS_BYTES = 4 << 20


@dataclass(frozen=True, slots=True)
class BlockArrays:
    """A level's block offsets and sizes: the image's blocks, then the mask's."""

    shape: LevelShape
    offsets: Offsets
    sizes: Sizes

    def run(self, placed: Placed) -> "BlockArrays":
        """The part that ``placed`` covers, ordered as its run is stored."""
        offsets = part(self.shape, self.offsets, placed)
        return BlockArrays(placed.shape, offsets, part(self.shape, self.sizes, placed))

    @property
    def start(self) -> int | None:
        """Where the first block's frame begins; None where all are sparse."""
        stored = self.offsets[self.sizes > 0]
        return int(stored.min()) - self.shape.frame_bytes // 2 if stored.size else None

    @property
    def is_one_run(self) -> bool:
        """Whether the blocks lie one behind the other, as a run is stored."""
        return len(self.extents) <= 1

    @property
    def extents(self) -> list[tuple[int, int]]:
        """Where the blocks' bytes begin and end, in the order of the arrays; neighbours joined."""
        stored, frame = self.sizes > 0, self.shape.frame_bytes
        starts = self.offsets[stored].astype(np.int64) - frame // 2
        ends = starts + self.sizes[stored] + frame
        breaks = np.flatnonzero(starts[1:] != ends[:-1])
        firsts = starts[np.concatenate([[0], breaks + 1])[: starts.size]]
        lasts = ends[np.concatenate([breaks, [-1]])[: starts.size]]
        return list(zip(firsts.tolist(), lasts.tolist(), strict=True))

    @property
    def size_bytes(self) -> int:
        return run_bytes(self.sizes, self.shape.frame_bytes)


def part(shape: LevelShape, values: npt.NDArray[N], placed: Placed) -> npt.NDArray[N]:
    """What a level's array holds for the blocks of a run, in the order of the run."""
    rows = slice(placed.block_row, placed.block_row + placed.shape.down)
    cols = slice(placed.block_col, placed.block_col + placed.shape.across)
    split = shape.image_blocks
    image = values[:split].reshape(shape.planes, shape.down, shape.across)[:, rows, cols]
    mask = values[split:].reshape(-1, shape.down, shape.across)[:, rows, cols]
    return np.concatenate([image.ravel(), mask.ravel()])


def read_directories(
    read: Callable[[int, int], bytes], size_bytes: int, shapes: Sequence[LevelShape]
) -> list[dict[int, ifd.Tag]]:
    """The directories of a file of ``shapes``; ``read(offset, size)`` gives its bytes.

    Reads no more than such a file can have in front of its data. Raises BadTiff.
    """
    most = MAX_TAGS_BYTES + 16 * sum(shape.blocks for shape in shapes)
    length = _FIRST_READ
    while True:
        front = read(0, min(length, size_bytes))
        try:
            return ifd.parse(front)
        except BadTiff:
            if length >= min(most, size_bytes):
                raise
        length *= 4


def block_arrays(
    directories: Sequence[Directory], shapes: Sequence[LevelShape]
) -> list[BlockArrays]:
    """The block arrays of all levels, level 0 first; BadTiff where these are not ``shapes``."""
    per_level = 2 if shapes[0].has_mask else 1
    if len(directories) != per_level * len(shapes):
        raise BadTiff(f"it has {len(directories)} directories, not {per_level * len(shapes)}")
    return [
        _level(directories[index * per_level : (index + 1) * per_level], shape)
        for index, shape in enumerate(shapes)
    ]


def _level(directories: Sequence[Directory], shape: LevelShape) -> BlockArrays:
    for directory in directories:
        size = (_number(directory, ifd.IMAGE_WIDTH), _number(directory, ifd.IMAGE_LENGTH))
        if size != (shape.width, shape.height):
            raise BadTiff(f"an image of {size} pixels, not of {(shape.width, shape.height)}")
    offsets, sizes = (
        np.concatenate([_array(directory, code) for directory in directories])
        for code in (ifd.TILE_OFFSETS, ifd.TILE_BYTE_COUNTS)
    )
    if offsets.size != shape.blocks or sizes.size != shape.blocks:
        raise BadTiff(f"{sizes.size} blocks and {offsets.size} offsets, not {shape.blocks}")
    return BlockArrays(shape, offsets.astype(np.uint64), sizes.astype(np.uint32))


def _number(directory: Directory, code: int) -> int:
    return int(_array(directory, code)[0])


def _array(directory: Directory, code: int) -> npt.NDArray[Any]:
    tag = directory.get(code)
    if tag is None or tag.type not in _INTEGERS or not tag.count:
        raise BadTiff(f"TIFF tag {code} is missing, or holds no integers")
    return np.frombuffer(tag.data, _INTEGERS[tag.type])


def check_inside(levels: Sequence[BlockArrays], size_bytes: int) -> None:
    """Raise BadTiff unless every block lies inside the file, and a sparse one nowhere."""
    for number, level in enumerate(levels):
        ends = level.offsets + level.sizes
        stored = level.sizes > 0
        outside = stored & ((ends > size_bytes) | (level.offsets < _LEAST_OFFSET))
        if (outside | (~stored & (level.offsets != 0))).any():
            raise BadTiff(f"level {number} has blocks outside the file's {size_bytes} bytes")


def front_bytes(levels: Sequence[BlockArrays], size_bytes: int) -> int:
    """The length of what stands in front of the first block."""
    return min((level.start for level in levels if level.start is not None), default=size_bytes)


def check_tile(levels: Sequence[BlockArrays], size_bytes: int) -> None:
    """Raise BadTiff unless the levels are runs, smallest first, up to the end of the file."""
    check_inside(levels, size_bytes)
    end = size_bytes
    for number, level in enumerate(levels):
        begins = end - level.size_bytes
        if level.start not in (None, begins) or not level.is_one_run:
            raise BadTiff(f"the blocks of level {number} do not lie where a tile has them")
        end = begins


def block_name(shape: LevelShape, index: int) -> str:
    """A block of a level for people, by its place in the level's arrays."""
    mask = index >= shape.image_blocks
    plane, rest = divmod(index - (shape.image_blocks if mask else 0), shape.across * shape.down)
    row, col = divmod(rest, shape.across)
    which = "mask block" if mask else "block"
    of = f" of band {plane + 1}" if shape.planes > 1 and not mask else ""
    return f"{which} {row}_{col}{of}"

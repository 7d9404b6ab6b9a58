"""The pure plan of a file's bytes: header, directories, and where each run goes.

A tile and a mosaic are the same thing to this module: levels, each made of runs.
Data lies smallest level first, so that a reader finds overviews near the header.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from scenemosaic.grids.grid import ceil_div
from scenemosaic.tiff import ifd
from scenemosaic.tiff.ifd import Directory, Tag
from scenemosaic.tiff.runs import BARE, Sizes, block_offsets, run_bytes

Offsets = npt.NDArray[np.uint64]
_CLASSIC_LIMIT = 2**32 - 1
_GEO_TAGS = frozenset({33550, 33920, 33922, 34264, 34735, 34736, 34737})
# Overviews carry what a decoder needs, not what describes the scene.
_MAIN_ONLY = _GEO_TAGS | {ifd.GDAL_METADATA, 269, 270, 305, 306, 315, 316, 333, 700}


@dataclass(frozen=True, slots=True)
class Template:
    """What every file of a job shares: the tags of an image and of a mask directory.

    Without sizes, block arrays and subfile type; ``main`` has the geo tags of the
    mosaic's origin. ``seed`` has those of a tile's last level (:mod:`scenemosaic.recipes.seed`).
    """

    main: Directory
    mask: Directory | None
    seed: "Template | None" = None

    @property
    def planes(self) -> int:
        """1 for pixel interleave; the number of bands for band interleave."""
        if int(self.main[ifd.PLANAR_CONFIG].values()[0]) == 1:
            return 1
        return int(self.main[ifd.SAMPLES_PER_PIXEL].values()[0])

    @property
    def block_size(self) -> int:
        return int(self.main[ifd.TILE_WIDTH].values()[0])


@dataclass(frozen=True, slots=True)
class LevelShape:
    """An image's size at one level in pixels, and how its blocks are counted and framed."""

    width: int
    height: int
    block_size: int
    planes: int
    has_mask: bool
    frame_bytes: int = BARE

    @property
    def across(self) -> int:
        return ceil_div(self.width, self.block_size)

    @property
    def down(self) -> int:
        return ceil_div(self.height, self.block_size)

    @property
    def layers(self) -> int:
        """The images that are stored one behind the other: each plane, and the mask."""
        return self.planes + self.has_mask

    @property
    def block_rows(self) -> int:
        """How many block rows a run of this shape is made of (:mod:`scenemosaic.tiff.runs`)."""
        return self.layers * self.down

    @property
    def image_blocks(self) -> int:
        return self.planes * self.across * self.down

    @property
    def blocks(self) -> int:
        """Image and mask blocks together: the length of a run's sizes."""
        return self.image_blocks + (self.across * self.down if self.has_mask else 0)


@dataclass(frozen=True, slots=True)
class Placed:
    """A run put into a level: its first block row and column there, its own shape and sizes."""

    block_row: int
    block_col: int
    shape: LevelShape
    sizes: Sizes

    @property
    def size_bytes(self) -> int:
        return run_bytes(self.sizes, self.shape.frame_bytes)


@dataclass(frozen=True, slots=True)
class Level:
    """One level of a file: its shape and its runs in the order in which they are stored.

    ``in_rows``: the file may say of it that its blocks are row-major.
    """

    shape: LevelShape
    runs: Sequence[Placed]
    is_seed: bool = False
    in_rows: bool = False


@dataclass(frozen=True, slots=True)
class FileLayout:
    """The bytes in front of the data, and the size of the whole file."""

    header: bytes
    size_bytes: int
    big: bool


def plan_file(template: Template, levels: Sequence[Level], *, shift: tuple[int, int]) -> FileLayout:
    """Lay out a file of ``levels`` (level 0 first).

    ``shift`` is the file's origin (x, y) in pixels of the template's grid. Data
    follows the header directly: the runs of the smallest level first, level 0 last.
    BigTIFF is chosen from the exact size.
    """
    lengths = [[run.size_bytes for run in level.runs] for level in levels]
    data_bytes = sum(map(sum, lengths))
    framed = levels[0].shape.frame_bytes != BARE
    in_rows = all(level.in_rows for level in levels)
    empty = [_blank(level.shape) for level in levels]
    for big in (False, True):
        directories = _directories(template, levels, empty, shift, big)
        front = ifd.file_header(big=big, framed=framed, in_rows=in_rows)
        header_bytes = len(front) + _directories_bytes(directories, big)
        if big or header_bytes + data_bytes <= _CLASSIC_LIMIT:
            break
    arrays: list[tuple[Offsets, Sizes]] = []
    position = header_bytes
    for level, runs in zip(reversed(levels), reversed(lengths), strict=True):
        array, position = _arrays(level, runs, position)
        arrays.insert(0, array)
    directories = _directories(template, levels, arrays, shift, big)
    header = front + ifd.write(directories, len(front), big=big)
    return FileLayout(header, header_bytes + data_bytes, big)


def _arrays(
    level: Level, lengths: Sequence[int], position: int
) -> tuple[tuple[Offsets, Sizes], int]:
    """Block offsets and sizes of a level (image blocks, then mask blocks), and its end."""
    shape = level.shape
    offsets, counts = _blank(shape)
    for run, length in zip(level.runs, lengths, strict=True):
        starts = block_offsets(run.sizes, position, run.shape.frame_bytes)
        position += length
        for target, source in ((offsets, starts), (counts, run.sizes)):
            scatter(target, source, shape, run)
    return (offsets, counts), position


def _blank(shape: LevelShape) -> tuple[Offsets, Sizes]:
    return np.zeros(shape.blocks, np.uint64), np.zeros(shape.blocks, np.uint32)


def scatter(
    target: npt.NDArray[np.generic], source: npt.NDArray[np.generic], shape: LevelShape, run: Placed
) -> None:
    """Put what is known of a run's blocks into an array of all blocks of its level."""
    rows = slice(run.block_row, run.block_row + run.shape.down)
    cols = slice(run.block_col, run.block_col + run.shape.across)
    split, run_split = shape.image_blocks, run.shape.image_blocks
    image = target[:split].reshape(shape.planes, shape.down, shape.across)
    image[:, rows, cols] = source[:run_split].reshape(-1, run.shape.down, run.shape.across)
    if shape.has_mask:
        mask = target[split:].reshape(shape.down, shape.across)
        mask[rows, cols] = source[run_split:].reshape(run.shape.down, run.shape.across)


def _directories(
    template: Template,
    levels: Sequence[Level],
    arrays: Sequence[tuple[Offsets, Sizes]],
    shift: tuple[int, int],
    big: bool,
) -> list[Directory]:
    directories: list[Directory] = []
    overview = _overview(template)
    for number, (level, (offsets, counts)) in enumerate(zip(levels, arrays, strict=True)):
        split = level.shape.image_blocks
        image = overview if number else {**template.main, **shifted_geo(template.main, shift)}
        mask = template.mask
        if level.is_seed and template.seed is not None:
            image, mask = _overview(template.seed), template.seed.mask
        reduced = 1 if number else 0
        directories.append(
            _directory(image, level.shape, offsets[:split], counts[:split], reduced, big)
        )
        if mask is not None:
            directories.append(
                _directory(mask, level.shape, offsets[split:], counts[split:], reduced | 4, big)
            )
    return directories


def _overview(template: Template) -> Directory:
    return {code: tag for code, tag in template.main.items() if code not in _MAIN_ONLY}


def _directory(
    tags: Directory, shape: LevelShape, offsets: Offsets, counts: Sizes, subfile: int, big: bool
) -> Directory:
    offset_type, dtype = (ifd.LONG8, "<u8") if big else (ifd.LONG, "<u4")
    own = {
        ifd.IMAGE_WIDTH: Tag.of(ifd.LONG, [shape.width]),
        ifd.IMAGE_LENGTH: Tag.of(ifd.LONG, [shape.height]),
        ifd.TILE_OFFSETS: Tag(offset_type, offsets.size, offsets.astype(dtype).tobytes()),
        ifd.TILE_BYTE_COUNTS: Tag(ifd.LONG, counts.size, counts.astype("<u4").tobytes()),
    }
    if subfile:
        own[ifd.NEW_SUBFILE_TYPE] = Tag.of(ifd.LONG, [subfile])
    return {**tags, **own}


def shifted_geo(main: Directory, shift: tuple[int, int]) -> Mapping[int, Tag]:
    """The geo tags of the image whose origin is pixel ``shift`` (x, y) of the template's.

    A shift of (0, 0) changes nothing, to the last bit.
    """
    x, y = shift
    if (x, y) == (0, 0):
        return {}
    if ifd.TRANSFORMATION in main:
        matrix = list(main[ifd.TRANSFORMATION].values())
        matrix[3] += x * matrix[0] + y * matrix[1]
        matrix[7] += x * matrix[4] + y * matrix[5]
        return {ifd.TRANSFORMATION: Tag.of(ifd.DOUBLE, matrix)}
    if ifd.TIE_POINT not in main or ifd.PIXEL_SCALE not in main:
        return {}
    tie, scale = list(main[ifd.TIE_POINT].values()), main[ifd.PIXEL_SCALE].values()
    tie[3] += x * scale[0]
    tie[4] -= y * scale[1]
    return {ifd.TIE_POINT: Tag.of(ifd.DOUBLE, tie)}


def _directories_bytes(directories: Sequence[Directory], big: bool) -> int:
    return sum(ifd.directory_bytes(directory, big=big) for directory in directories)

"""Pixels to compressed TIFF blocks, without copies beyond the one that a block needs.

Deflate, ZSTD, LZW, plain blocks and LERC of single bytes are made here, predictor and
interleaving in one pass over the whole level; other LERC, JPEG and WebP go through
GDAL (:mod:`scenemosaic.tiff.gdal_codec`), since their streams share tables with
the directory or hide NaN in a mask. All of it runs without the interpreter's lock.

Predictors (TIFF technical notes): 2 = horizontal differences of each sample, 3 =
byte planes of floats, most significant first, then differences of bytes.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import imagecodecs
import numpy as np
import numpy.typing as npt

from scenemosaic.errors import InputError
from scenemosaic.grids.grid import ceil_div
from scenemosaic.tiff import deflate

Pixels = npt.NDArray[Any]
_DIRECT = frozenset({"deflate", "zstd", "lzw", "none"})
_BYTES = frozenset({"uint8", "int8"})
# What libtiff says in its directories, and writes itself.
_LERC_VERSION = 4
# What does not shrink is stored, behind this and the two limits of each band.
_LERC_HEAD_BYTES = 1024
# What decides on deflate: of so many blocks, spread over the plane, so many rows each.
_SAMPLED = 4
_SAMPLE_ROWS = 64
# By effort.
_ZSTD_LEVELS = {"fast": 1, "balanced": 3, "small": 9}


@dataclass(frozen=True, slots=True)
class BlockCoding:
    """How the blocks of an image are encoded; ``fill`` is what a sparse block reads as.

    ``level``, or without one ``effort``, says how hard to try: for deflate see
    :mod:`scenemosaic.tiff.deflate`.
    """

    block_size: int
    compress: str
    level: int | None
    predictor: int
    interleave: str
    fill: float | int
    effort: str = "balanced"


def is_made_here(compress: str, dtype: str) -> bool:
    """Whether :func:`encode_blocks` makes such blocks.

    LERC of bytes is, since its Huffman codes end with a word that the library leaves as it
    finds it, and libtiff's buffer is not empty: its bytes would be others each time.
    """
    return compress in _DIRECT or (compress == "lerc" and dtype in _BYTES)


def encode_blocks(
    pixels: Pixels, coding: BlockCoding, choice: deflate.Choice = deflate.chosen
) -> list[bytes | None]:
    """Compressed blocks of ``pixels`` (bands, height, width), by plane, then row-major.

    A block that holds nothing but ``fill`` is None (sparse). Edge blocks repeat
    the last row and column. ``choice`` decides on deflate.
    """
    if not is_made_here(coding.compress, pixels.dtype.name):
        raise InputError(f"{coding.compress} blocks of {pixels.dtype} are not made here")
    step = len(pixels) if coding.interleave == "pixel" else 1
    planes = [pixels[band : band + step] for band in range(0, len(pixels), step)]
    return [block for plane in planes for block in _encode_plane(plane, coding, choice)]


def _encode_plane(plane: Pixels, coding: BlockCoding, choice: deflate.Choice) -> list[bytes | None]:
    padded = _padded(plane, coding.block_size)
    tiles = _tiled(padded, coding.block_size)
    sparse = _sparse_blocks(tiles, coding.fill)
    dense = np.argwhere(~sparse)
    if not dense.size:
        return [None] * sparse.size
    # One block of scratch stays in the processor's cache, where the compressor finds it.
    scratch = np.empty(tiles.shape[2:], tiles.dtype)
    spread = dense[[len(dense) * part // (2 * _SAMPLED) for part in range(1, 2 * _SAMPLED, 2)]]
    sample = partial(_sample, [tiles[row, col] for row, col in spread], coding.predictor)
    compress = _compressor(coding, sample, choice)
    return [
        None if sparse[at] else compress(_predicted(tiles[at], coding.predictor, scratch))
        for at in np.ndindex(*sparse.shape)
    ]


def _sample(blocks: Sequence[Pixels], predictor: int) -> Pixels:
    """The first rows of ``blocks``, as they would be compressed, one below the other."""
    scratch = np.empty(blocks[0][:_SAMPLE_ROWS].shape, blocks[0].dtype)
    return np.concatenate(
        [_predicted(block[:_SAMPLE_ROWS], predictor, scratch).copy() for block in blocks]
    )


def encode_mask(mask: npt.NDArray[np.uint8], block_size: int) -> list[bytes | None]:
    """Deflated one-bit blocks of a mask (height, width) of 0 and 255; all-zero ones are None."""
    padded = _padded(mask[np.newaxis], block_size, mode="constant")
    tiles = _tiled(padded, block_size)[..., 0]
    bits: Pixels = np.packbits(tiles != 0, axis=-1).reshape(-1, block_size, block_size // 8)
    compress = deflate.libdeflate(deflate.LIBDEFLATE_LEVEL)
    return [compress(block) if block.any() else None for block in bits]


def _padded(pixels: Pixels, block_size: int, mode: Literal["edge", "constant"] = "edge") -> Pixels:
    _, height, width = pixels.shape
    down = ceil_div(height, block_size) * block_size - height
    across = ceil_div(width, block_size) * block_size - width
    if not (down or across):
        return pixels
    padded: Pixels = np.pad(pixels, ((0, 0), (0, down), (0, across)), mode=mode)
    return padded


def _tiled(pixels: Pixels, block_size: int) -> Pixels:
    """A view (block rows, block columns, rows, columns, bands) of padded pixels."""
    bands, height, width = pixels.shape
    n = block_size
    split = pixels.reshape(bands, height // n, n, width // n, n)
    return split.transpose(1, 3, 2, 4, 0)


def _sparse_blocks(tiles: Pixels, fill: float | int) -> npt.NDArray[np.bool_]:
    """Which blocks (down, across) hold nothing but the fill value."""
    sparse = np.asarray(_is_fill(tiles[:, :, 0, 0, :], fill).all(axis=-1))
    # Most blocks are settled by their first pixel; only the others are read whole.
    for row, col in zip(*np.nonzero(sparse), strict=True):
        sparse[row, col] = bool(_is_fill(tiles[row, col], fill).all())
    return sparse


def _is_fill(pixels: Pixels, fill: float | int) -> npt.NDArray[np.bool_]:
    wanted = np.asarray(fill).astype(pixels.dtype)
    if pixels.dtype.kind == "c":
        return _is_number(pixels.real, wanted.real) & _is_number(pixels.imag, wanted.imag)
    return _is_number(pixels, wanted)


def _is_number(pixels: Pixels, wanted: Pixels) -> npt.NDArray[np.bool_]:
    same: npt.NDArray[np.bool_] = np.isnan(pixels) if wanted != wanted else pixels == wanted
    if wanted == 0 and pixels.dtype.kind == "f":
        # A negative zero and the other one are equal, and a sparse block reads as one of them.
        same &= np.signbit(pixels) == np.signbit(wanted)
    return same


def _predicted(block: Pixels, predictor: int, scratch: Pixels) -> Pixels:
    """A block (rows, columns, bands) in memory order, predictor applied; ``scratch`` is reused."""
    if predictor == 3:
        return _float_planes(block)
    for band in range(block.shape[-1]):  # a band at a time reads both arrays in stride
        source, target = block[..., band], scratch[..., band]
        if predictor == 2:
            # Differences are of the samples' bits, of floats too.
            bits = np.dtype(f"u{block.itemsize}")
            source, target = source.view(bits), target.view(bits)
            target[:, 0] = source[:, 0]
            np.subtract(source[:, 1:], source[:, :-1], out=target[:, 1:])
        else:
            target[...] = source
    return scratch


def _float_planes(block: Pixels) -> Pixels:
    rows, cols, bands = block.shape
    size = block.dtype.itemsize
    big_endian = np.ascontiguousarray(block, block.dtype.newbyteorder(">"))
    as_bytes = big_endian.view(np.uint8).reshape(rows, cols * bands, size)
    planes = as_bytes.transpose(0, 2, 1).reshape(rows, size * cols * bands)
    out = np.empty(planes.shape, np.uint8)
    out[:, :bands] = planes[:, :bands]
    np.subtract(planes[:, bands:], planes[:, :-bands], out=out[:, bands:])
    return out


def zstd_level(level: int | None, effort: str) -> int:
    """The level asked for, or that of an effort."""
    return _ZSTD_LEVELS[effort] if level is None else level


def _lerc(block: Any) -> Any:
    empty = bytearray(block.nbytes + _LERC_HEAD_BYTES + 2 * block.shape[-1])
    return imagecodecs.lerc_encode(block, level=0, version=_LERC_VERSION, planar=False, out=empty)


def _compressor(
    coding: BlockCoding, sample: deflate.Sample, choice: deflate.Choice
) -> Callable[[Pixels], bytes]:
    if coding.compress == "deflate":
        return choice(sample, coding.level, coding.effort)
    # The stubs ask for bytes; any contiguous buffer is taken as it lies, without a copy.
    level = zstd_level(coding.level, coding.effort)
    encoders: dict[str, Callable[[Any], Any]] = {
        "zstd": lambda block: imagecodecs.zstd_encode(block, level),
        "lzw": imagecodecs.lzw_encode,
        "lerc": _lerc,
        "none": lambda block: block.tobytes(),
    }
    encoder = encoders[coding.compress]
    return lambda block: bytes(encoder(block))

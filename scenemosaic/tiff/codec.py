"""Pixels to compressed TIFF blocks, without copies beyond the one that a block needs.

Deflate (libdeflate), ZSTD, LZW and plain blocks are made here, predictor and
interleaving in one pass over the whole level; LERC, JPEG and WebP go through
GDAL (:mod:`scenemosaic.tiff.gdal_codec`), since their streams share tables with
the directory. All of it runs without the interpreter's lock.

Predictors (TIFF technical notes): 2 = horizontal differences of each sample, 3 =
byte planes of floats, most significant first, then differences of bytes.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import imagecodecs
import numpy as np
import numpy.typing as npt

from scenemosaic.errors import InputError
from scenemosaic.grid import ceil_div

Pixels = npt.NDArray[Any]
DIRECT = frozenset({"deflate", "zstd", "lzw", "none"})
_DEFAULT_LEVEL = {"deflate": 6, "zstd": 9}


@dataclass(frozen=True, slots=True)
class BlockCoding:
    """How the blocks of an image are encoded; ``fill`` is what a sparse block reads as."""

    block_size: int
    compress: str
    level: int | None
    predictor: int
    interleave: str
    fill: float | int

    def __post_init__(self) -> None:
        if self.compress not in DIRECT:
            raise InputError(f"{self.compress} blocks are not made here")


def encode_blocks(pixels: Pixels, coding: BlockCoding) -> list[bytes | None]:
    """Compressed blocks of ``pixels`` (bands, height, width), by plane, then row-major.

    A block that holds nothing but ``fill`` is None (sparse). Edge blocks repeat
    the last row and column.
    """
    compress = _compressor(coding)
    blocks: list[bytes | None] = []
    planes = (
        [pixels]
        if coding.interleave == "pixel"
        else [pixels[i : i + 1] for i in range(len(pixels))]
    )
    for plane in planes:
        padded = _padded(plane, coding.block_size)
        sparse = _sparse_blocks(padded, coding)
        ready = _predicted(_tiled(padded, coding.block_size), coding.predictor)
        flat = ready.reshape(-1, *ready.shape[2:])
        blocks += [
            None if empty else compress(block) for block, empty in zip(flat, sparse, strict=True)
        ]
    return blocks


def encode_mask(mask: npt.NDArray[np.uint8], block_size: int) -> list[bytes | None]:
    """Deflated one-bit blocks of a mask (height, width) of 0 and 255; all-zero ones are None."""
    padded = _padded(mask[np.newaxis], block_size, mode="constant")
    tiles = _tiled(padded, block_size)[..., 0]
    bits: Pixels = np.packbits(tiles != 0, axis=-1).reshape(-1, block_size, block_size // 8)
    compress = _compressor(BlockCoding(block_size, "deflate", None, 1, "pixel", 0))
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


def _sparse_blocks(padded: Pixels, coding: BlockCoding) -> npt.NDArray[np.bool_]:
    """Which blocks hold nothing but the fill value, in the order of the blocks."""
    tiles = _tiled(padded, coding.block_size)
    sparse = np.asarray(_is_fill(tiles[:, :, 0, 0, :], coding.fill).all(axis=-1))
    # Most blocks are settled by their first pixel; only the others are read whole.
    for row, col in zip(*np.nonzero(sparse), strict=True):
        sparse[row, col] = bool(_is_fill(tiles[row, col], coding.fill).all())
    return sparse.reshape(-1)


def _is_fill(pixels: Pixels, fill: float | int) -> npt.NDArray[np.bool_]:
    if fill != fill:
        missing: npt.NDArray[np.bool_] = np.isnan(pixels)
        return missing
    same: npt.NDArray[np.bool_] = pixels == np.asarray(fill).astype(pixels.dtype)
    if fill == 0 and pixels.dtype.kind in "fc":
        # A negative zero is not the zero that a sparse block reads as.
        same &= ~np.signbit(pixels.real) & ~np.signbit(pixels.imag)
    return same


def _predicted(tiles: Pixels, predictor: int) -> Pixels:
    """Blocks (down, across, rows, columns, bands) in memory order, predictor applied."""
    if predictor == 3:
        return _float_planes(tiles)
    out = np.empty(tiles.shape, tiles.dtype)
    for band in range(tiles.shape[-1]):  # a band at a time reads both arrays in stride
        source, target = tiles[..., band], out[..., band]
        if predictor == 2:
            target[..., 0] = source[..., 0]
            np.subtract(source[..., 1:], source[..., :-1], out=target[..., 1:])
        else:
            target[...] = source
    return out


def _float_planes(tiles: Pixels) -> Pixels:
    down, across, rows, cols, bands = tiles.shape
    size = tiles.dtype.itemsize
    big_endian = np.ascontiguousarray(tiles, tiles.dtype.newbyteorder(">"))
    as_bytes = big_endian.view(np.uint8).reshape(down, across, rows, cols * bands, size)
    planes = as_bytes.transpose(0, 1, 2, 4, 3).reshape(down, across, rows, size * cols * bands)
    out = np.empty(planes.shape, np.uint8)
    out[..., :bands] = planes[..., :bands]
    np.subtract(planes[..., bands:], planes[..., :-bands], out=out[..., bands:])
    return out


def _compressor(coding: BlockCoding) -> Callable[[Pixels], bytes]:
    level = _DEFAULT_LEVEL.get(coding.compress) if coding.level is None else coding.level
    # The stubs ask for bytes; any contiguous buffer is taken as it lies, without a copy.
    encoders: dict[str, Callable[[Any], Any]] = {
        "deflate": lambda block: imagecodecs.deflate_encode(block, level),
        "zstd": lambda block: imagecodecs.zstd_encode(block, level),
        "lzw": imagecodecs.lzw_encode,
        "none": lambda block: block.tobytes(),
    }
    encoder = encoders[coding.compress]
    return lambda block: bytes(encoder(block))

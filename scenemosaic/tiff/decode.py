"""Runs back to pixels, block by block, into arrays that are there already.

For the codecs whose blocks stand by themselves; those that share tables with the
directory go through GDAL (:mod:`scenemosaic.mosaic.pieces`). The costly parts run
without the interpreter's lock.
"""

from collections.abc import Callable
from typing import Any

import imagecodecs
import numpy as np
import numpy.typing as npt
from isal import isal_zlib
from isal.igzip_lib import IsalError

from scenemosaic.tiff.codec import BlockCoding
from scenemosaic.tiff.ifd import BadTiff
from scenemosaic.tiff.layout import LevelShape
from scenemosaic.tiff.runs import Sizes, block_offsets

Pixels = npt.NDArray[Any]
DIRECT = frozenset({"deflate", "zstd", "none"})
_Unpack = Callable[[Any, int], Any]


def decode_run(
    data: bytes,
    sizes: Sizes,
    shape: LevelShape,
    coding: BlockCoding,
    pixels: Pixels,
    mask: Pixels | None,
) -> None:
    """Fill ``pixels`` (bands, height, width) and ``mask`` (height, width; 0 or 255) from a run.

    ``shape`` is the run's; a sparse block reads as the fill value, in the mask as 0.
    Raises BadTiff where a block does not hold its pixels.
    """
    blocks = _blocks(data, sizes, shape.frame_bytes)
    step = len(pixels) // shape.planes
    unpack, size_bytes = _UNPACK[coding.compress], coding.block_size**2 * step * pixels.itemsize
    for plane, row, col in np.ndindex(shape.planes, shape.down, shape.across):
        bands = pixels[plane * step : (plane + 1) * step]
        box = _box(bands, row, col, coding.block_size)
        block = next(blocks)
        if block is None:
            box[...] = np.asarray(coding.fill).astype(box.dtype)
        else:
            _put(_unpacked(unpack, block, size_bytes), coding, box)
    if mask is not None:
        for row, col in np.ndindex(shape.down, shape.across):
            _put_mask(next(blocks), coding.block_size, _box(mask, row, col, coding.block_size))


def _blocks(data: bytes, sizes: Sizes, frame_bytes: int) -> Any:
    view = memoryview(data)
    offsets = block_offsets(sizes, 0, frame_bytes)
    for start, size in zip(offsets.tolist(), sizes.tolist(), strict=True):
        yield view[start : start + size] if size else None


def _box(pixels: Pixels, row: int, col: int, n: int) -> Pixels:
    return pixels[..., row * n : (row + 1) * n, col * n : (col + 1) * n]


def _isal(block: Any, size_bytes: int) -> bytes:
    return bytes(isal_zlib.decompress(block, bufsize=size_bytes))


# isal's stub gives its error as an instance; imagecodecs' errors are RuntimeErrors.
_DEFECTS: tuple[type[Exception], ...] = (IsalError, RuntimeError)  # type: ignore[assignment]
_UNPACK: dict[str, _Unpack] = {
    "deflate": _isal,
    "zstd": lambda block, size_bytes: imagecodecs.zstd_decode(block, out=size_bytes),
    "none": lambda block, size_bytes: block,
}


def _unpacked(unpack: _Unpack, block: Any, size_bytes: int) -> npt.NDArray[np.uint8]:
    try:
        data = np.frombuffer(unpack(block, size_bytes), np.uint8)
    except _DEFECTS as error:
        raise BadTiff(f"a block cannot be decompressed: {error}") from error
    if data.size != size_bytes:
        raise BadTiff(f"a block holds {data.size} bytes, not {size_bytes}")
    return data


def _put(data: npt.NDArray[np.uint8], coding: BlockCoding, box: Pixels) -> None:
    """A block's bytes into ``box`` (bands, rows, columns), which an edge cuts short."""
    bands, height, width = box.shape
    n = coding.block_size
    if coding.predictor == 3:
        data = _floats(data, n, bands, box.itemsize)
    # Differences are of the samples' bits, whatever these stand for.
    kind = np.dtype(f"u{box.itemsize}") if coding.predictor == 2 else box.dtype
    samples = data.view(kind).reshape(n, n, bands)[:height, :width]
    if coding.predictor == 2:
        for band in range(bands):
            imagecodecs.delta_decode(samples[..., band], axis=1, out=box[band].view(kind))
    else:
        box[...] = samples.transpose(2, 0, 1)


def _floats(data: npt.NDArray[np.uint8], n: int, bands: int, item: int) -> npt.NDArray[np.uint8]:
    """Native samples as bytes, from the byte planes of predictor 3."""
    summed = imagecodecs.delta_decode(data.reshape(n, item * n, bands), axis=1)
    planes = summed.reshape(n, item, n * bands)
    little_endian = np.empty((n, n * bands, item), np.uint8)
    for plane in range(item):  # a plane at a time: all at once takes four times as long
        little_endian[..., item - 1 - plane] = planes[:, plane]
    native = little_endian.view(f"<f{item}").astype(f"=f{item}", copy=False)
    return native.view(np.uint8).reshape(-1)


def _put_mask(block: Any, n: int, box: Pixels) -> None:
    if block is None:
        box[...] = 0
        return
    bits = _unpacked(_isal, block, n * n // 8).reshape(n, n // 8)
    box[...] = np.unpackbits(bits, axis=1)[: box.shape[0], : box.shape[1]] * np.uint8(255)

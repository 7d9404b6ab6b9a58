"""Whether a stored block decodes. Unlike in GDAL, whatever is off about it is an error.

GDAL gives out pixels where deflate's own checksum fails, and only logs what libjpeg
finds. ZSTD and LZW blocks carry no checksum: there only what breaks the stream shows.
"""

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

import imagecodecs
import numpy as np
import rasterio
from isal import isal_zlib
from rasterio.io import MemoryFile
from rasterio.session import DummySession

from scenemosaic.dtypes import ITEM_SIZES
from scenemosaic.errors import IncompleteError
from scenemosaic.grids.grid import ceil_div
from scenemosaic.recipes.recipe import Recipe
from scenemosaic.tiff.layout import Level, LevelShape, Placed, Template, plan_file
from scenemosaic.tiff.runs import BARE, join

_GDAL_LOG = logging.getLogger("rasterio")
# imagecodecs' errors are all of these; the stubs of neither library call them exceptions.
_ISAL_ERROR = cast("type[Exception]", isal_zlib.error)
_DECODER_ERRORS = (RuntimeError, ValueError, _ISAL_ERROR)


class Undecodable(IncompleteError):
    """A block whose bytes are no image of its size."""

    kind = "undecodable"


@dataclass(frozen=True, slots=True)
class Decoder:
    """Decodes blocks of a recipe's files, with the tables of their own ``template``."""

    recipe: Recipe
    template: Template

    def image(self, block: bytes) -> None:
        """Raise Undecodable where ``block`` is not one of the image."""
        compress = self.recipe.compress
        if compress == "jpeg":
            _by_gdal(self._only_block(block))
            return
        _check(block, _DECODERS[compress], self._block_bytes())

    def mask(self, block: bytes) -> None:
        """Raise Undecodable where ``block`` is not one of the mask."""
        _check(block, _deflate, self.recipe.block_size**2 // 8)

    def _block_bytes(self) -> int:
        size = self.recipe.block_size
        samples = self.recipe.bands if self.recipe.interleave == "pixel" else 1
        bits = self.recipe.nbits or 8 * ITEM_SIZES[self.recipe.dtype]
        # A row ends with a whole byte.
        return size * ceil_div(size * samples * bits, 8)

    def _only_block(self, block: bytes) -> bytes:
        """A TIFF of one block: its tables stand in the directory."""
        size = self.recipe.block_size
        shape = LevelShape(size, size, size, self.template.planes, False)
        run = join([block, *[None] * (shape.blocks - 1)], BARE)
        bare = Template(self.template.main, None)
        layout = plan_file(bare, [Level(shape, [Placed(0, 0, shape, run.sizes)])], shift=(0, 0))
        return b"".join([layout.header, *run.pieces])


def _check(block: bytes, decode: Callable[[bytes, int], int], expected: int) -> None:
    try:
        length = decode(block, expected)
    except _DECODER_ERRORS as error:
        raise Undecodable(f"it does not decode: {error}") from error
    if length != expected:
        raise Undecodable(f"it decodes to {length} bytes, not {expected}")


def _deflate(block: bytes, expected: int) -> int:
    unpacker = isal_zlib.decompressobj()
    length = len(unpacker.decompress(block, expected + 1))
    if not unpacker.eof or unpacker.unused_data:
        raise Undecodable("its deflate stream does not end where the block does")
    return length


def _zstd(block: bytes, expected: int) -> int:
    return len(imagecodecs.zstd_decode(block, out=expected))


def _lzw(block: bytes, expected: int) -> int:
    return len(imagecodecs.lzw_decode(block, out=expected))


def _lerc(block: bytes, expected: int) -> int:
    return _bytes_of(imagecodecs.lerc_decode(block), expected)


def _webp(block: bytes, expected: int) -> int:
    return _bytes_of(imagecodecs.webp_decode(block), expected)


def _bytes_of(decoded: Any, expected: int) -> int:
    """The length of what a block reads as.

    An alpha of 8 bits need not be among its samples: WebP leaves out one that is opaque,
    and libtiff keeps one of 0 and 255 as LERC's mask.
    """
    pixels = np.asarray(decoded)
    with_alpha = pixels.nbytes + pixels.shape[0] * pixels.shape[1]
    return expected if pixels.itemsize == 1 and with_alpha == expected else pixels.nbytes


_DECODERS: dict[str, Callable[[bytes, int], int]] = {
    "deflate": _deflate,
    "zstd": _zstd,
    "lzw": _lzw,
    "lerc": _lerc,
    "webp": _webp,
    "none": lambda block, expected: len(block),
}


def _by_gdal(data: bytes) -> None:
    with _complaints() as said:
        try:
            with (
                rasterio.Env(session=DummySession()),
                MemoryFile(data) as memory,
                memory.open(driver="GTiff") as dataset,
            ):
                dataset.read(1)
        except rasterio.errors.RasterioError as error:
            raise Undecodable(f"it does not decode: {error}") from error
    if said:
        raise Undecodable(f"it does not decode: {said[0]}")


@contextmanager
def _complaints() -> Iterator[list[str]]:
    """What GDAL logs in this thread meanwhile."""
    heard = _Heard(threading.get_ident())
    _GDAL_LOG.addHandler(heard)
    try:
        yield heard.said
    finally:
        _GDAL_LOG.removeHandler(heard)


class _Heard(logging.Handler):
    def __init__(self, thread: int) -> None:
        super().__init__(logging.WARNING)
        self._thread = thread
        self.said: list[str] = []

    def emit(self, record: Any) -> None:
        if record.thread == self._thread:
            self.said.append(record.getMessage())

"""Block and window sizes: from the grid and the recipe alone, so the same on every machine."""

from typing import Final

from scenemosaic.errors import InputError
from scenemosaic.grids.grid import Tiling, ceil_div
from scenemosaic.recipes.recipe_rules import worst_tile_bytes

# Runs of 8 MiB and more are copied inside an object store; half is taken for compression.
GOOD_RAW_BYTES: Final = 16 << 20
# Memory of one window is a small multiple of this.
MAX_RAW_BYTES: Final = 256 << 20
MAX_TILE_BYTES: Final = 1 << 30
# With at least two levels a tile, the levels made at assembly are a sixteenth of the pixels.
_GOOD_LEVELS: Final = 2
# A multipart upload has 10,000 parts.
_GOOD_WINDOWS: Final = 9000
BLOCKS: Final = (512, 256, 384, 448, 320)
_STEP_PX: Final = 16
# What validators take for an image that needs no tiles.
_UNTILED_PX: Final = 512


def choose_block(width: int, height: int, window: int | None, bytes_per_pixel: int = 1) -> int:
    """The block size in pixels: 512, or the next that suits this image and divides ``window``.

    An image that is smaller than that, of very many bands, has one block that just holds it:
    a pixel of 2000 bands would else be compressed as 524 MB.

    rio-cogeo takes a level that is exactly one block wide and higher than 512
    pixels for untiled, and so refuses the file (GDAL's own COGs too): a portrait of
    4096 x 8192 has such a level with blocks of 512, and none with blocks of 256.
    No block helps an image one pixel wide and higher than 512: rio-cogeo asks for
    overviews there, and takes their decimation from widths, which stay 1.
    """
    side = max(width, height)
    if window is None and side < BLOCKS[0] and BLOCKS[0] ** 2 * bytes_per_pixel > GOOD_RAW_BYTES:
        return ceil_div(side, _STEP_PX) * _STEP_PX
    usable = [block for block in BLOCKS if window is None or window % block == 0]
    return next((b for b in usable if not _looks_untiled(width, height, b)), 512)


def _looks_untiled(width: int, height: int, block_size: int) -> bool:
    tiling = Tiling(width, height, block_size, block_size)
    sizes = (tiling.size_at(level) for level in range(tiling.last_level + 1))
    return any(across == block_size and down > _UNTILED_PX for down, across in sizes)


def choose_window(
    width: int, height: int, block_size: int, bytes_per_pixel: int, compress: str
) -> int:
    """The window's size in pixels: ``block_size * 2**K``.

    It grows until a level-0 run is worth copying alone, until tiles hold two
    overviews and until the windows are few enough for one upload; never past the
    image, nor past what memory and a single request take.
    """
    if block_size < _STEP_PX or block_size % _STEP_PX:
        raise InputError(f"block size must be a multiple of 16, not {block_size}")
    window = block_size
    while window < max(width, height) and _wants_more(
        window, width, height, block_size, bytes_per_pixel
    ):
        if not _fits(2 * window, width, height, block_size, bytes_per_pixel, compress):
            break
        window *= 2
    return window


def _wants_more(
    window: int, width: int, height: int, block_size: int, bytes_per_pixel: int
) -> bool:
    windows = ceil_div(width, window) * ceil_div(height, window)
    return (
        window * window * bytes_per_pixel < GOOD_RAW_BYTES
        or window < block_size << _GOOD_LEVELS
        or windows > _GOOD_WINDOWS
    )


def _fits(
    window: int, width: int, height: int, block_size: int, bytes_per_pixel: int, compress: str
) -> bool:
    raw = min(window, width) * min(window, height) * bytes_per_pixel
    tiling = Tiling(width, height, window, block_size)
    worst = worst_tile_bytes(tiling, bytes_per_pixel, True, compress)
    return raw <= MAX_RAW_BYTES and worst < MAX_TILE_BYTES

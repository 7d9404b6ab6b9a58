"""What a recipe may hold: pure checks, each naming the value and what is allowed."""

import math
from collections.abc import Mapping, Sequence
from typing import Final

from scenemosaic.canonical import Number
from scenemosaic.dtypes import ITEM_SIZES, integer_range, is_complex, is_integer
from scenemosaic.errors import InputError
from scenemosaic.grids.grid import Tiling, ceil_div
from scenemosaic.words import counted

# Each pixel of a level of these comes from two by two of the level below alone.
LOCAL: Final = ("nearest", "average", "mode", "rms")
# These reach further on each side: at most by so many pixels of the level below (an even number).
REACH_PX: Final[Mapping[str, int]] = {
    "bilinear": 2,
    "cubic": 4,
    "cubic_spline": 4,
    "lanczos": 6,
    "gauss": 2,
}
RESAMPLINGS: Final = (*LOCAL, *REACH_PX)
CATEGORICAL: Final = ("nearest", "mode")
EFFORTS: Final = ("fast", "balanced", "small")
EFFORT_CODECS: Final = ("deflate", "zstd")
LEVELS: Final[Mapping[str, range | None]] = {
    "deflate": range(1, 13),
    "zstd": range(1, 23),
    "lzw": None,
    "lerc": None,
    "jpeg": range(1, 101),
    "webp": range(1, 101),
    "none": None,
}
LOSSY: Final = ("jpeg", "webp")
_LOSSLESS: Final = "use --compress deflate or zstd"
WITH_PREDICTOR: Final = ("deflate", "zstd", "lzw")
# Azure's single Put Blob takes 5000 MiB, the least of the stores' limits (S3: 5 GiB).
PUT_MAX_BYTES: Final = 5000 << 20
MAX_SIZE_PX: Final = 2**31 - 1
MAX_BANDS: Final = 65535
MAX_BLOCK_PX: Final = 8192
MAX_WINDOWS: Final = 10_000_000
FLOAT32_MAX: Final = 3.4028234663852886e38
# LZW codes have up to 12 bits for a byte; the others store what does not shrink.
_EXPANSION: Final[Mapping[str, float]] = {"lzw": 1.5, "jpeg": 2.0, "webp": 2.0}
_HEADER_BYTES: Final = 8 << 20


def check_choice(name: str, value: object, allowed: Sequence[object]) -> None:
    """InputError unless ``value`` is one of ``allowed``."""
    if value not in allowed:
        raise InputError(f"{name} must be one of {', '.join(map(str, allowed))}, not {value!r:.80}")


def check_pixels(dtype: str, bands: int, nodata: Number | None) -> None:
    check_choice("dtype", dtype, tuple(ITEM_SIZES))
    if not 1 <= bands <= MAX_BANDS:
        raise InputError(f"bands must be within 1..{MAX_BANDS}, not {bands}")
    if nodata is not None:
        check_nodata(dtype, nodata)


def check_nodata(dtype: str, nodata: Number) -> None:
    """InputError where ``nodata`` is no value of ``dtype``."""
    if is_integer(dtype):
        low, high = integer_range(dtype)
        if type(nodata) is not int or not low <= nodata <= high:
            raise InputError(f"nodata {nodata!r} is not a value of {dtype} ({low}..{high})")
        return
    if type(nodata) is not float:
        raise InputError(f"nodata of {dtype} must be a float, not {nodata!r}")
    single = dtype in ("float32", "complex64")
    if single and math.isfinite(nodata) and abs(nodata) > FLOAT32_MAX:
        raise InputError(f"nodata {nodata!r} is not a value of {dtype}")


def check_codec(compress: str, level: int | None, predictor: int, dtype: str) -> None:
    check_choice("compress", compress, tuple(LEVELS))
    check_level(compress, level)
    check_predictor(compress, predictor, dtype)
    if compress in LOSSY and dtype != "uint8":
        raise InputError(f"{compress} holds uint8 alone, not {dtype}: {_LOSSLESS}")
    if compress == "lerc" and (is_complex(dtype) or dtype in ("int64", "uint64")):
        raise InputError(f"lerc does not hold {dtype}: {_LOSSLESS}")


def check_level(compress: str, level: int | None) -> None:
    allowed = LEVELS[compress]
    if level is None or (allowed is not None and level in allowed):
        return
    if allowed is None:
        raise InputError(f"{compress} has no level, and {level} was given")
    raise InputError(f"level of {compress} must be within {allowed[0]}..{allowed[-1]}, not {level}")


def check_predictor(compress: str, predictor: int, dtype: str) -> None:
    allowed = (1,)
    if compress in WITH_PREDICTOR and not is_complex(dtype):
        allowed = (1, 2) if is_integer(dtype) else (1, 2, 3)  # type: ignore[assignment]
    check_choice(f"predictor for {compress} and {dtype}", predictor, allowed)


def default_predictor(compress: str, dtype: str) -> int:
    """2 for integers, 3 for floats, 1 where there is none."""
    if compress not in WITH_PREDICTOR or is_complex(dtype):
        return 1
    return 2 if is_integer(dtype) else 3


def check_interleave(compress: str, interleave: str, bands: int) -> None:
    check_choice("interleave", interleave, ("pixel", "band"))
    if compress == "webp" and (interleave != "pixel" or bands not in (3, 4)):
        raise InputError(f"webp holds 3 or 4 pixel-interleaved bands, not {bands} ({interleave})")
    if compress == "jpeg" and interleave == "pixel" and bands not in (1, 3, 4):
        raise InputError(f"jpeg holds 1, 3 or 4 pixel-interleaved bands, not {bands}")


def check_nbits(
    nbits: int | None, dtype: str, compress: str, predictor: int, nodata: Number | None
) -> None:
    """InputError where a GeoTIFF cannot hold ``nbits`` bits of ``dtype`` with this codec.

    Nodata has to fit, too: blocks that a source leaves out read as it.
    """
    if nbits is None:
        return
    bits = counted(nbits, "bit")
    least = {"uint8": 1, "uint16": 9, "uint32": 17}.get(dtype)
    if least is None or not least <= nbits < 8 * ITEM_SIZES[dtype]:
        raise InputError(f"samples of {bits} are not kept in {dtype}: write whole bits")
    if compress not in ("deflate", "zstd", "lzw", "none"):
        raise InputError(f"{compress} holds no samples of {bits}: {_LOSSLESS}")
    check_choice(f"predictor for samples of {bits}", predictor, (1,))
    if nodata is not None and nodata >= 2**nbits:
        raise InputError(
            f"nodata {nodata} does not fit into samples of {bits}: write whole bits (--whole-bits)"
        )


def check_photometric(photometric: str | None, compress: str, interleave: str, bands: int) -> None:
    check_choice("photometric", photometric, (None, "ycbcr"))
    if photometric is not None and (compress, interleave, bands) != ("jpeg", "pixel", 3):
        raise InputError("ycbcr is for 3 pixel-interleaved bands in jpeg alone")


def check_effort(effort: str, compress: str, level: int | None) -> None:
    check_choice("effort", effort, EFFORTS)
    if effort == "balanced":
        return
    if compress not in EFFORT_CODECS:
        raise InputError(f"{compress} knows no effort, and {effort!r} was given: leave it out")
    if level is not None:
        raise InputError(f"give a level or an effort, not both ({level} and {effort!r})")


def check_exact_nodata(compress: str, nodata: Number | None) -> None:
    if compress in LOSSY and nodata is not None:
        raise InputError(
            f"{compress} changes pixels, so nodata {nodata} would not survive: "
            f"{_LOSSLESS}, or turn nodata into a mask first"
        )


def check_resampling(resampling: str, dtype: str) -> None:
    check_choice("resampling", resampling, RESAMPLINGS)
    if is_complex(dtype) and resampling != "nearest":
        raise InputError(f"{dtype} takes nearest alone, not {resampling}")


def check_tiling(tiling: Tiling) -> None:
    if max(tiling.width, tiling.height) > MAX_SIZE_PX:
        raise InputError(f"the grid is too large: {tiling.width} x {tiling.height} pixels")
    if tiling.block_size > MAX_BLOCK_PX:
        raise InputError(f"block size must be at most {MAX_BLOCK_PX}, not {tiling.block_size}")
    if tiling.rows * tiling.cols > MAX_WINDOWS:
        raise InputError(
            f"{tiling.rows} x {tiling.cols} windows are too many (at most {MAX_WINDOWS}): "
            f"choose a window larger than {tiling.window_size}"
        )


def check_tile_bytes(worst_bytes: int, window_size: int) -> None:
    if worst_bytes > PUT_MAX_BYTES:
        raise InputError(
            f"a tile of window {window_size} could take {worst_bytes} bytes, more than the "
            f"{PUT_MAX_BYTES} of one request: choose a smaller window"
        )


def worst_tile_bytes(tiling: Tiling, bytes_per_pixel: int, has_mask: bool, compress: str) -> int:
    """An upper bound of one tile's bytes: levels and seed padded to whole blocks, mask, header."""
    height, width = min(tiling.window_size, tiling.height), min(tiling.window_size, tiling.width)
    pixels = sum(
        _padded(height, level, tiling.block_size) * _padded(width, level, tiling.block_size)
        for level in range(tiling.tile_levels + 2)
    )
    raw = pixels * bytes_per_pixel + (pixels // 8 if has_mask else 0)
    return int(raw * _EXPANSION.get(compress, 1.02)) + _HEADER_BYTES


def _padded(size: int, level: int, block: int) -> int:
    return ceil_div(ceil_div(size, 1 << level), block) * block

"""What decides any scene's mosaic, beside the scene itself."""

from collections.abc import Callable
from typing import Any, Final

import click

from flows.options.running import POSITIVE, number_or_auto, with_options


def _numbers(
    ctx: click.Context, param: click.Parameter, value: str | None
) -> tuple[int, ...] | None:
    if value is None:
        return None
    parts = [part.strip() for part in value.split(",")]
    if not all(part.isdecimal() and int(part) > 0 for part in parts):
        raise click.BadParameter(f"{value!r} is no list of bands from 1, such as 4,3,2")
    return tuple(map(int, parts))


def _measures(
    ctx: click.Context, param: click.Parameter, value: str | None
) -> tuple[float, ...] | None:
    if value is None:
        return None
    try:
        return tuple(float(part) for part in value.replace(",", " ").split())
    except ValueError:
        raise click.BadParameter(f"{value!r} is no list of numbers, such as 10,20") from None


def _lower(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    return value and value.lower()


_RECIPE: Final = (
    click.option(
        "--window",
        callback=number_or_auto,
        metavar="N|auto",
        default="auto",
        show_default=True,
        help="Pixels a side.",
    ),
    click.option(
        "--block-size",
        type=POSITIVE,
        help="Pixels a side of a block.  [default: 512, or what suits a narrow image]",
    ),
    click.option(
        "--compress",
        callback=_lower,
        default="deflate",
        show_default=True,
        metavar="CODEC",
        help="deflate, zstd, lzw, lerc, jpeg, webp or none.",
    ),
    click.option(
        "--level",
        type=int,
        help="The codec's level, instead of an effort. Of deflate: no more bytes than "
        "GDAL's library makes at it.",
    ),
    click.option(
        "--effort",
        callback=_lower,
        default="balanced",
        show_default=True,
        metavar="HOW",
        help="For deflate and zstd: fast, balanced (by what the pixels are like) or small.",
    ),
    click.option(
        "--resampling",
        callback=_lower,
        metavar="KERNEL",
        help="For overviews: nearest, average, mode, rms, bilinear, cubic, cubic_spline, "
        "lanczos or gauss.",
    ),
    click.option(
        "--categorical",
        is_flag=True,
        help="The values are classes: overviews take mode, or nearest.",
    ),
    click.option(
        "--whole-bits",
        is_flag=True,
        help="Write samples of fewer bits than their type (NBITS) with all of them.",
    ),
    click.option(
        "--bands",
        callback=_numbers,
        metavar="N,N,…",
        help="These bands of the source, in this order: 4,3,2.",
    ),
    click.option(
        "--expression",
        metavar="TEXT",
        help="Bands computed from the source's, separated by commas: (b4-b3)/(b4+b3).",
    ),
    click.option(
        "--unscale",
        is_flag=True,
        help="Take value x scale + offset, as the source says them, of each band.",
    ),
    click.option(
        "--dtype",
        callback=_lower,
        metavar="TYPE",
        help="The mosaic's: uint8, int16, float32 and so on. A value that does not fit is "
        "refused.  [default: float32 where bands are computed, else the source's]",
    ),
    click.option(
        "--nodata",
        type=float,
        metavar="NUMBER",
        help="The mosaic's. Pixels of this value are holes where the source has no nodata and "
        "keeps its type; a value that is computed, or of a source with another, must not be it.  "
        "[default: nan where bands are computed, else the source's]",
    ),
    click.option("--crs", metavar="CRS", help="The mosaic's.  [default: the first source's]"),
    click.option(
        "--resolution",
        callback=_measures,
        metavar="X[,Y]",
        help="The pixel in units of the CRS.  [default: the first source's]",
    ),
    click.option(
        "--bounds",
        callback=_measures,
        metavar="W,S,E,N",
        help="In units of the CRS, moved outwards to whole pixels.  [default: around all sources]",
    ),
    click.option(
        "--method",
        callback=_lower,
        metavar="HOW",
        help="Where sources overlap: first, last, min, max, mean, median or count.  "
        "[default: first]",
    ),
    click.option(
        "--warp-resampling",
        callback=_lower,
        metavar="KERNEL",
        help="For sources off the mosaic's grid: nearest, bilinear, cubic, cubic_spline, lanczos, "
        "average, mode or rms.  [default: bilinear, or nearest for classes and complex numbers]",
    ),
    click.option("--collection", metavar="ID", help="The STAC collection of the item."),
)


def recipe_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add what decides any scene's mosaic, beside the scene itself."""
    return with_options(_RECIPE, command)

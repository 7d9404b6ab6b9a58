"""A small picture of a mosaic: stretched, palettes honoured, what is no data transparent."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from scenemosaic.canonical import Number
from scenemosaic.grids.grid import ceil_div
from scenemosaic.mosaic.png import png
from scenemosaic.tiff.layout import Template
from scenemosaic.tiff.template import alpha_band

Pixels = npt.NDArray[Any]
Bytes8 = npt.NDArray[np.uint8]
Bits = npt.NDArray[np.bool_]
Shares = npt.NDArray[np.floating[Any]]

MAX_SIDE_PX: Final = 1024
_PERCENTILES: Final = (2.0, 98.0)
# Percentiles need no more than every so many pixels of a band.
_SAMPLED_PX: Final = 16_384
_COLOR_MAP_TAG: Final = 320
_OPAQUE: Final = 255


@dataclass(frozen=True, slots=True)
class Look:
    """How bands are shown: a palette for the first one, or the alpha band's number (from 1)."""

    palette: Mapping[int, tuple[int, int, int, int]] | None = None
    alpha: int | None = None


def preview_png(
    pixels: Pixels, mask: Bytes8 | None, nodata: Number | None, template: Template
) -> bytes:
    """The PNG of a mosaic's pixels (bands, height, width) and mask (height, width; 0 is hidden)."""
    return render(pixels, mask, nodata, look_of(template))


def render(pixels: Pixels, mask: Bytes8 | None, nodata: Number | None, look: Look) -> bytes:
    """A PNG of at most 1024 pixels a side; the same bytes for the same input.

    The first three bands (or the first one) are stretched between their 2nd and
    98th percentiles. Masked, nodata and non-finite pixels are transparent.
    """
    step = ceil_div(max(pixels.shape[1:]), MAX_SIDE_PX)
    pixels = pixels[:, ::step, ::step]
    shown = None if mask is None else mask[::step, ::step] > 0
    bands = _shown_bands(pixels, look)
    valid = [_valid(band, nodata) for band in bands]
    visible = np.logical_or.reduce(valid)
    if shown is not None:
        visible &= shown
    if look.palette is not None:
        return png(_hiding(_paletted(bands[0], look.palette), visible))
    alpha = _transparency(pixels, look)
    if alpha is None and visible.all():
        return png(_stretched(bands, valid))
    return png(_hiding(_stretched(bands, valid, _OPAQUE if alpha is None else alpha), visible))


def _hiding(rgba: Bytes8, visible: Bits) -> Bytes8:
    if not visible.all():
        rgba[~visible] = 0
    return rgba


def look_of(template: Template) -> Look:
    """What a TIFF's tags say of the look of its bands."""
    colors = template.main.get(_COLOR_MAP_TAG)
    if colors is None:
        return Look(alpha=alpha_band(template))
    table = np.array(colors.values(), np.uint16).reshape(3, -1).T // 257
    return Look({index: (int(r), int(g), int(b), _OPAQUE) for index, (r, g, b) in enumerate(table)})


def _shown_bands(pixels: Pixels, look: Look) -> list[Pixels]:
    order = [index for index in range(len(pixels)) if index + 1 != look.alpha]
    count = 3 if len(order) >= 3 and look.palette is None else 1
    # An image of nothing but alpha shows that.
    return [_real(pixels[index]) for index in (order or [0])[:count]]


def _real(band: Pixels) -> Pixels:
    return np.abs(band) if np.iscomplexobj(band) else band


def _valid(band: Pixels, nodata: Number | None) -> Bits:
    finite: Bits = np.isfinite(band)
    if nodata is None or nodata != nodata:
        return finite
    finite &= band != np.asarray(nodata).astype(band.dtype)
    return finite


def _paletted(band: Pixels, palette: Mapping[int, tuple[int, int, int, int]]) -> Bytes8:
    size = max(int(band.max(initial=0)), *palette, 0) + 1
    table = np.zeros((size, 4), np.uint8)
    for index, color in palette.items():
        table[index] = color
    colors: Bytes8 = table[band.astype(np.int64)]
    return colors


def _stretched(bands: list[Pixels], valid: list[Bits], *alpha: Bytes8 | int) -> Bytes8:
    """Red, green, blue, and alpha where it is given."""
    channels = [_stretch(band, bits) for band, bits in zip(bands, valid, strict=True)]
    if len(channels) == 1:
        channels *= 3
    shown = (*channels, *alpha)
    image = np.empty((*bands[0].shape, len(shown)), np.uint8)
    for index, channel in enumerate(shown):
        image[..., index] = channel
    return image


def _stretch(band: Pixels, valid: Bits) -> Bytes8:
    """A band as 0..255 between its percentiles; a constant one is mid-grey."""
    whole = bool(valid.all())
    seen = band.ravel() if whole else band[valid]
    if not seen.size:
        return np.zeros(band.shape, np.uint8)
    sample = seen[:: ceil_div(seen.size, _SAMPLED_PX)].astype(np.float64)
    low, high = np.percentile(sample, _PERCENTILES)
    # Halves, since the span of float64's extremes overflows.
    span = high / 2 - low / 2
    if not span > 0:
        return np.full(band.shape, 128, np.uint8)
    # Half the memory to go through, where it holds every value exactly.
    exact = np.float32 if band.dtype.itemsize <= 2 else np.float64
    share: Shares = (band if whole else np.where(valid, band, low)).astype(exact)
    share /= 2
    share -= low / 2
    share *= _OPAQUE / span
    np.clip(share, 0, _OPAQUE, out=share)
    scaled: Bytes8 = np.rint(share, out=share).astype(np.uint8)
    return scaled


def _transparency(pixels: Pixels, look: Look) -> Bytes8 | None:
    """The alpha band as 0..255."""
    if look.alpha is None:
        return None
    alpha = pixels[look.alpha - 1]
    if alpha.dtype == np.uint8:
        return np.ascontiguousarray(alpha)
    return np.where(alpha > 0, _OPAQUE, 0).astype(np.uint8)

"""What computed bands say of themselves."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from scenemosaic.bandmath.computed import Computed
from scenemosaic.bandmath.program import SourceBands, same_nodata
from scenemosaic.canonical import Number
from scenemosaic.image_metadata import Colors, Namespaces, SourceMetadata

_T = TypeVar("_T")


def source_bands(metadata: SourceMetadata) -> SourceBands:
    """What band maths needs to know of a source."""
    kinds = metadata.colorinterp
    alpha = kinds.index("alpha") + 1 if "alpha" in kinds else None
    return SourceBands(metadata.nodata, metadata.scales, metadata.offsets, alpha)


def described(
    metadata: SourceMetadata, computed: Computed, nodata: Number | None, same_type: bool
) -> SourceMetadata:
    """The metadata of the computed bands.

    A band that was only chosen keeps all its own, but statistics of other values: ``same_type``
    says that it also keeps its type. An expression is its band's description.
    """
    same = same_type and not computed.unscale and same_nodata(metadata.nodata, nodata)
    value = None if nodata is None else float(nodata)
    whole = replace(metadata, nodata=value)
    if computed.expressions:
        return _expressed(whole, computed.expressions)
    chosen = _chosen(whole, computed.bands)
    if not same_nodata(metadata.nodata, nodata):
        colormaps = tuple(_seen_through(colors, nodata) for colors in chosen.colormaps)
        chosen = replace(chosen, colormaps=colormaps)
    if not same:
        chosen = replace(chosen, band_tags=tuple(map(_without_statistics, chosen.band_tags)))
    if computed.unscale:
        chosen = replace(chosen, scales=(1.0,) * computed.count, offsets=(0.0,) * computed.count)
    return chosen


def _expressed(metadata: SourceMetadata, expressions: tuple[str, ...]) -> SourceMetadata:
    count = len(expressions)
    return replace(
        metadata,
        band_tags=((),) * count,
        descriptions=expressions,
        units=("",) * count,
        scales=(1.0,) * count,
        offsets=(0.0,) * count,
        colorinterp=("gray", *("undefined",) * (count - 1)),
        colormaps=(None,) * count,
    )


def _chosen(metadata: SourceMetadata, bands: Sequence[int]) -> SourceMetadata:
    def chosen(values: Sequence[_T]) -> tuple[_T, ...]:
        return tuple(values[band - 1] for band in bands)

    return replace(
        metadata,
        band_tags=chosen(metadata.band_tags),
        descriptions=chosen(metadata.descriptions),
        units=chosen(metadata.units),
        scales=chosen(metadata.scales),
        offsets=chosen(metadata.offsets),
        colorinterp=_without_late_gray(chosen(metadata.colorinterp)),
        colormaps=chosen(metadata.colormaps),
    )


def _without_late_gray(kinds: tuple[str, ...]) -> tuple[str, ...]:
    """A GeoTIFF calls its first band grey where nobody said anything, and no other one."""
    return (kinds[0], *("undefined" if kind == "gray" else kind for kind in kinds[1:]))


def _seen_through(colors: Colors | None, nodata: Number | None) -> Colors | None:
    """The colours with nodata's alone transparent, as GDAL has them in a GeoTIFF."""
    if colors is None:
        return None
    return tuple((value, (*rgba[:3], 0 if value == nodata else 255)) for value, rgba in colors)


def _without_statistics(namespaces: Namespaces) -> Namespaces:
    kept = (
        (name, tuple(pair for pair in pairs if not pair[0].startswith("STATISTICS_")))
        for name, pairs in namespaces
    )
    return tuple((name, pairs) for name, pairs in kept if pairs)

"""What a raster says of itself beside its pixels: taken from one dataset, put on another.

Invariant 1 lists it: CRS, transform, AREA_OR_POINT, nodata, scales, offsets,
units, descriptions, tags of all namespaces, colour map, colour interpretation.
Nodata is a float here, as rasterio has it; the recipe's is exact.
"""

import math
from collections.abc import Iterable
from dataclasses import fields
from typing import Any, Final

from rasterio.crs import CRS
from rasterio.enums import ColorInterp
from rasterio.io import DatasetReader, DatasetWriter
from rasterio.transform import Affine

from scenemosaic.errors import InputError
from scenemosaic.grids.grid import Affine6
from scenemosaic.image_metadata import Colors, Namespaces, Pairs, SourceMetadata

# How a file is laid out, or computed by GDAL: never a property of the image.
STRUCTURAL: Final = frozenset({"IMAGE_STRUCTURE", "DERIVED_SUBDATASETS", "SUBDATASETS", "RPC"})
# rasterio takes tags as keyword arguments, and these are its own.
_NO_TAG_NAMES: Final = frozenset({"bidx", "ns"})


def metadata_of(dataset: DatasetReader) -> SourceMetadata:
    """The metadata of an open raster.

    Raises InputError, naming the namespace, where rasterio would lose a part of it.
    """
    bands = range(1, dataset.count + 1)
    return SourceMetadata(
        crs_wkt="" if dataset.crs is None else dataset.crs.to_wkt(),
        transform=transform_of(dataset),
        nodata=dataset.nodata,
        tags=_namespaces(dataset, 0),
        band_tags=tuple(_namespaces(dataset, band) for band in bands),
        descriptions=tuple(text or "" for text in dataset.descriptions),
        units=tuple(text or "" for text in dataset.units),
        scales=tuple(map(float, dataset.scales)),
        offsets=tuple(map(float, dataset.offsets)),
        colorinterp=tuple(kind.name for kind in dataset.colorinterp),
        colormaps=tuple(_colormap(dataset, band) for band in bands),
    )


def transform_of(dataset: DatasetReader) -> Affine6:
    """The affine transform (a, b, c, d, e, f)."""
    a, b, c, d, e, f = (float(term) for term in tuple(dataset.transform)[:6])
    return a, b, c, d, e, f


def apply_metadata(dataset: DatasetWriter, metadata: SourceMetadata) -> None:
    """Put ``metadata`` on a new dataset, before any pixel is written.

    Raises InputError, naming the tag, where rasterio cannot write one of that name.
    """
    if metadata.crs_wkt:
        dataset.crs = CRS.from_wkt(metadata.crs_wkt)
    dataset.transform = Affine(*metadata.transform)
    if metadata.nodata is not None:
        dataset.nodata = metadata.nodata
    _apply_colors(dataset, metadata)
    _apply_values(dataset, metadata)
    _apply_tags(dataset, 0, metadata.tags)
    for band, namespaces in enumerate(metadata.band_tags, start=1):
        _apply_tags(dataset, band, namespaces)


def differences(left: SourceMetadata, right: SourceMetadata) -> list[str]:
    """The names of the fields in which the two say something else.

    CRSs are compared by meaning, transforms to a billionth of a pixel (a GeoTIFF
    whose pixels are points stores the origin half a pixel away).
    """
    return [
        field.name
        for field in fields(SourceMetadata)
        if not _same(field.name, getattr(left, field.name), getattr(right, field.name))
    ]


def _same(name: str, left: Any, right: Any) -> bool:
    if name == "crs_wkt":
        return left == right or bool(CRS.from_wkt(left) == CRS.from_wkt(right))
    if name == "transform":
        return same_transform(left, right)
    if name == "nodata":
        return bool(left == right or (left != left and right != right))
    if name == "tags":
        return _with_area(left) == _with_area(right)
    if name == "colorinterp":
        return _with_gray(left) == _with_gray(right)
    if name in ("scales", "offsets"):
        return all(a == b or (a != a and b != b) for a, b in zip(left, right, strict=True))
    return bool(left == right)


def _with_area(tags: Namespaces) -> Namespaces:
    """GDAL's formats that say nothing of it mean areas; a GeoTIFF says so."""
    spaces = {name: dict(pairs) for name, pairs in tags}
    spaces[""] = {"AREA_OR_POINT": "Area"} | spaces.get("", {})
    return tuple(sorted((name, tuple(sorted(pairs.items()))) for name, pairs in spaces.items()))


def _with_gray(kinds: tuple[str, ...]) -> tuple[str, ...]:
    """A GeoTIFF's first band is grey where nothing else is said."""
    return ("gray" if kinds[0] == "undefined" else kinds[0], *kinds[1:])


def same_transform(left: Affine6, right: Affine6) -> bool:
    """Whether two transforms agree to a billionth of a pixel at the origin."""
    pixel = math.sqrt(abs(left[0] * left[4] - left[1] * left[3]))
    return all(abs(a - b) <= 1e-9 * pixel for a, b in zip(left, right, strict=True))


def _namespaces(dataset: DatasetReader, band: int) -> Namespaces:
    names = [name for name in dataset.tag_namespaces(band) if not _is_structural(name)]
    found = [("", _pairs(dataset.tags(band)))]
    found += [(name, _pairs(_domain(dataset, band, name))) for name in names]
    return tuple(sorted((name, pairs) for name, pairs in found if pairs))


def _is_structural(namespace: str) -> bool:
    # GML in a JPEG 2000 file is how that format spells its CRS and transform.
    return namespace in STRUCTURAL or namespace.startswith("xml:gml")


def _pairs(tags: dict[str, str]) -> Pairs:
    return tuple(sorted(tags.items()))


def _domain(dataset: DatasetReader, band: int, name: str) -> dict[str, str]:
    tags: dict[str, str] = dataset.tags(band, ns=name)
    if name.startswith("json:") and len(tags) == 1:
        # rasterio splits a JSON document at its first colon or equals sign.
        raise InputError(f"metadata in the namespace {name} cannot be kept: remove it first")
    return tags


def _colormap(dataset: DatasetReader, band: int) -> Colors | None:
    try:
        return tuple(sorted(dataset.colormap(band).items()))
    except ValueError:  # how rasterio says that there is none
        return None


def _apply_colors(dataset: DatasetWriter, metadata: SourceMetadata) -> None:
    for band, colors in enumerate(metadata.colormaps, start=1):
        if colors is not None:
            dataset.write_colormap(band, dict(colors))
    kinds = tuple(ColorInterp[name] for name in metadata.colorinterp)
    if tuple(dataset.colorinterp) != kinds:
        dataset.colorinterp = kinds


def _apply_values(dataset: DatasetWriter, metadata: SourceMetadata) -> None:
    if any(metadata.descriptions):
        dataset.descriptions = metadata.descriptions
    if any(metadata.units):
        dataset.units = metadata.units
    if any(scale != 1.0 for scale in metadata.scales):
        dataset.scales = metadata.scales
    if any(offset != 0.0 for offset in metadata.offsets):
        dataset.offsets = metadata.offsets


def _apply_tags(dataset: DatasetWriter, band: int, namespaces: Namespaces) -> None:
    for name, pairs in namespaces:
        tags = dict(_whole_documents(pairs)) if name.startswith("xml:") else dict(pairs)
        if taken := sorted(_NO_TAG_NAMES & tags.keys()):
            raise InputError(f"a tag called {taken[0]} cannot be kept: remove it first")
        if name:
            dataset.update_tags(band, ns=name, **tags)
        else:
            dataset.update_tags(band, **tags)


def _whole_documents(pairs: Pairs) -> Iterable[tuple[str, str]]:
    """An XML document cut at its first '=', since rasterio joins name and value with one."""
    for _, document in pairs:
        name, _, value = document.partition("=")
        yield name, value

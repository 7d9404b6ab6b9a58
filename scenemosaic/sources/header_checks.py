"""What planning refuses, by name and with what to do, from headers alone.

Every check raises InputError with the reason; the caller puts the file's name in
front. What is handled is returned as notes.
"""

import math
from collections.abc import Sequence
from typing import Final

from rasterio.enums import Interleaving, MaskFlags
from rasterio.io import DatasetReader

from scenemosaic.dtypes import ITEM_SIZES
from scenemosaic.errors import InputError
from scenemosaic.sources.metadata import transform_of
from scenemosaic.sources.tiff_structure import TiffImage
from scenemosaic.words import counted

MAX_BLOCK_BYTES: Final = 1 << 30
_IDENTITY: Final = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0)
_COMPLEX_INTEGER_NAMES: Final = {32: "CInt16", 64: "CInt32"}


def check_header(dataset: DatasetReader, images: Sequence[TiffImage]) -> list[str]:
    """Refuse what cannot become a mosaic equal to its source; notes on what can.

    ``images`` is the TIFF's own structure, empty for other formats.
    """
    _check_files(dataset)
    _check_dtypes(dataset, images)
    odd_bits(dataset, images)
    _check_place(dataset)
    _check_epoch(images)
    _check_nodata(dataset)
    _check_masks(dataset, images)
    _check_block_bytes(dataset, images)
    return _notes(dataset)


def _check_files(dataset: DatasetReader) -> None:
    further = [name for name in dataset.files if name != dataset.name]
    if further and not dataset.name.startswith(("s3://", "http")):
        raise InputError(
            f"it needs further files ({', '.join(further)}), and a pin covers one: "
            "make a GeoTIFF of it with gdal_translate"
        )
    several = len(dataset.subdatasets)
    if several > 1:
        raise InputError(
            f"it holds {several} images and one is wanted: "
            "take one with gdal_translate GTIFF_DIR:1:…"
        )


def _check_dtypes(dataset: DatasetReader, images: Sequence[TiffImage]) -> None:
    dtypes = sorted({str(dtype) for dtype in dataset.dtypes})
    if len(dtypes) > 1:
        raise InputError(f"its bands have different types ({', '.join(dtypes)}): write one type")
    complex_integer = bool(images) and images[0].complex_integer
    if complex_integer or dtypes[0] == "complex_int16":
        bits = images[0].bits[0] if images else 32
        name = _COMPLEX_INTEGER_NAMES.get(bits, "CInt16")
        raise InputError(
            f"its pixels are complex integers ({name}), which rasterio does not keep: "
            "convert them with gdal_translate -ot CFloat32"
        )
    if dtypes[0] not in ITEM_SIZES:
        raise InputError(
            f"pixels of type {dtypes[0]} are not read: use one of {', '.join(ITEM_SIZES)}"
        )


def odd_bits(dataset: DatasetReader, images: Sequence[TiffImage]) -> int | None:
    """The bits of a sample where they are fewer than its type has. Refuses what is not kept."""
    dtype = dataset.dtypes[0]
    whole = 8 * ITEM_SIZES[dtype]
    said = [dataset.tags(band, ns="IMAGE_STRUCTURE").get("NBITS") for band in dataset.indexes]
    bits = {int(text) if text else whole for text in said}
    bits |= set(images[0].bits) if images else set()
    if bits == {whole}:
        return None
    odd = min(bits)
    if len(bits) > 1 or not dtype.startswith("uint"):
        raise InputError(
            f"its samples have NBITS={odd} in {dtype}, not the same in all bands or not of an "
            f"unsigned type: write all {whole} bits with gdal_translate -co NBITS={whole}"
        )
    return odd


# How each part of a place is set, alone: a rotated transform would not survive -a_ullr.
_SETS: Final = {"CRS": "-a_srs …", "transform": "-a_ullr …"}


def _check_place(dataset: DatasetReader) -> None:
    gcps, _ = dataset.gcps
    if gcps:
        raise InputError(
            f"it is placed by {len(gcps)} ground control points, which are not kept: "
            "warp it to a grid with gdalwarp first"
        )
    if dataset.rpcs is not None:
        raise InputError("it is placed by an RPC model, which is not kept: orthorectify it first")
    transform = transform_of(dataset)
    missing = [name for name, absent in _absent(dataset, transform) if absent]
    if missing:
        raise InputError(
            f"it has no georeferencing ({' and no '.join(missing)}; side files are not read): "
            f"set it with gdal_edit.py {' '.join(_SETS[name] for name in missing)}"
        )
    a, b, _c, d, e, _f = transform
    if not all(map(math.isfinite, transform)) or a * e == b * d:
        raise InputError(f"its transform {transform} has no area: set another with gdal_edit.py")


def _check_epoch(images: Sequence[TiffImage]) -> None:
    epoch = images[0].epoch if images else None
    if epoch:
        raise InputError(
            f"its coordinates are of the epoch {epoch:g}, which rasterio does not keep: "
            "set the CRS alone with gdal_edit.py -a_srs …"
        )


def _absent(
    dataset: DatasetReader, transform: tuple[float, ...]
) -> tuple[tuple[str, bool], tuple[str, bool]]:
    no_crs = dataset.crs is None or not dataset.crs.to_wkt()
    return ("CRS", no_crs), ("transform", transform == _IDENTITY)


def _check_nodata(dataset: DatasetReader) -> None:
    values = [repr(value) for value in dataset.nodatavals]
    if len(set(values)) > 1:
        raise InputError(
            f"its bands have different nodata ({', '.join(dict.fromkeys(values))}), "
            "and a GeoTIFF holds one: set one for all with gdal_edit.py -a_nodata"
        )
    if "NODATA_VALUES" in dataset.tags():
        raise InputError(
            "its nodata is a tuple over all bands (NODATA_VALUES), which is not kept: "
            "turn it into a mask with gdal_translate -b mask"
        )


def _check_masks(dataset: DatasetReader, images: Sequence[TiffImage]) -> None:
    flags = dataset.mask_flag_enums
    if any(not flag for flag in flags):
        raise InputError("its bands have masks of their own: keep one mask for all bands")
    masked = [flag == [MaskFlags.per_dataset] for flag in flags]
    if any(masked) != all(masked):
        raise InputError("some of its bands are masked and some are not: keep one mask for all")
    soft = [image.bits[0] for image in images if image.is_mask and set(image.bits) != {1}]
    if soft:
        raise InputError(
            f"its mask has {counted(soft[0], 'bit')}, and only masks of one bit are kept"
        )


def _check_block_bytes(dataset: DatasetReader, images: Sequence[TiffImage]) -> None:
    """GDAL holds a block as it was decoded, and beside it its samples, each of whole bytes."""
    height, width = dataset.block_shapes[0]
    together = 1 if dataset.interleaving == Interleaving.band else dataset.count
    size_bytes = height * width * together * ITEM_SIZES[dataset.dtypes[0]]
    if images and images[0].compressed:
        # One large strip is shown as rows, and is decoded from its start for each window.
        (width, height), size_bytes = images[0].block_px, size_bytes + images[0].block_bytes
    if size_bytes > MAX_BLOCK_BYTES:
        raise InputError(
            f"one of its blocks ({width} x {height} pixels) takes {size_bytes / 2**30:.1f} GiB "
            f"when it is read, more than {MAX_BLOCK_BYTES >> 30} GiB: "
            "tile it with gdal_translate -co TILED=YES"
        )


def _notes(dataset: DatasetReader) -> list[str]:
    a, b, _c, d, e, _f = transform_of(dataset)
    notes = []
    if b or d:
        notes.append("its grid is rotated or sheared: kept as it is")
    elif e > 0 or a < 0:
        notes.append("its rows run south to north (or columns east to west): kept as it is")
    return notes

"""What planning knows of a source: its header as a value, checked. No pixel is read."""

from dataclasses import dataclass

from rasterio.enums import Interleaving
from rasterio.io import DatasetReader

from scenemosaic.bandmath.computed import Computed
from scenemosaic.canonical import Number
from scenemosaic.errors import InputError
from scenemosaic.grids.crs_text import normal_wkt
from scenemosaic.grids.grid import Grid
from scenemosaic.image_metadata import SourceMetadata
from scenemosaic.sources.byte_ranges import range_reader
from scenemosaic.sources.header_checks import check_header, odd_bits
from scenemosaic.sources.jp2_structure import check_jp2
from scenemosaic.sources.metadata import metadata_of, transform_of
from scenemosaic.sources.nodata import exact_nodata
from scenemosaic.sources.rasters import has_internal_mask, opened
from scenemosaic.sources.tiff_structure import TiffImage, Truncated, tiff_images

_TIFF = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")


@dataclass(frozen=True, slots=True)
class Header:
    """An image as planning sees it: a source's, or what sources and options make together.

    ``nodata`` is exact for the type; ``interleave`` is ``pixel`` or ``band``; ``nbits`` are
    the bits of a sample where they are fewer than the type has; ``computed`` is what is made
    of the source's bands, None where they are taken as they are.
    """

    grid: Grid
    dtype: str
    bands: int
    nodata: Number | None
    has_mask: bool
    interleave: str
    nbits: int | None
    metadata: SourceMetadata
    computed: Computed | None = None

    @property
    def colorinterp(self) -> tuple[str, ...]:
        """Each band's colour interpretation, by GDAL's name in small letters."""
        return self.metadata.colorinterp

    @property
    def has_palette(self) -> bool:
        return "palette" in self.colorinterp


def read_header(location: str, size_bytes: int) -> tuple[Header, list[str]]:
    """The header of the raster at a canonical location, and what was noticed in it.

    Raises InputError, without the file's name, for everything that cannot become a mosaic
    equal to its source.
    """
    images = _images(location, size_bytes)
    with opened(location) as dataset:
        notes = check_header(dataset, images)
        return _header(dataset, images), notes


def _header(dataset: DatasetReader, images: list[TiffImage]) -> Header:
    dtype = str(dataset.dtypes[0])
    return Header(
        grid=Grid(normal_wkt(dataset.crs), transform_of(dataset), dataset.width, dataset.height),
        dtype=dtype,
        bands=dataset.count,
        nodata=exact_nodata(dtype, dataset.nodata, images[0].nodata if images else None),
        has_mask=has_internal_mask(dataset),
        interleave="band" if dataset.interleaving == Interleaving.band else "pixel",
        nbits=odd_bits(dataset, images),
        metadata=metadata_of(dataset),
    )


def _images(location: str, size_bytes: int) -> list[TiffImage]:
    """The structure of a TIFF; nothing for other formats. Refuses what is cut off."""
    read_at = range_reader(location, size_bytes)
    magic = read_at(0, 12)
    try:
        if magic[:4] in _TIFF:
            return tiff_images(read_at, size_bytes)
        check_jp2(magic, read_at, size_bytes)
    except Truncated as error:
        raise InputError(f"it is truncated or damaged: {error}; fetch it again") from None
    return []

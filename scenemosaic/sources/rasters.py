"""Open and read source rasters: an explicit list of drivers, bounded, every failure named."""

import os
import threading
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import numpy as np
import numpy.typing as npt
from rasterio.enums import ColorInterp, MaskFlags
from rasterio.errors import NotGeoreferencedWarning, RasterioError, RasterioIOError
from rasterio.io import DatasetReader
from rasterio.windows import Window as RasterioWindow

from scenemosaic.errors import InputError, SourceReadError, SourceUndecodable
from scenemosaic.grids.grid import Window
from scenemosaic.image_metadata import SourceMetadata
from scenemosaic.plans.pin import Pin
from scenemosaic.sources.locations import is_local, public_uri, vsi_path
from scenemosaic.sources.metadata import apply_metadata, metadata_of
from scenemosaic.sources.reading_env import access_mark, reading
from scenemosaic.sources.reading_settings import read_deadlines
from scenemosaic.sources.silence import SILENCES

# Never VRT, whatever a file is called: its XML can name any other file.
DRIVERS: Final = ("GTiff", "JP2OpenJPEG", "HFA")
MAX_OPEN_PER_THREAD: Final = 8

__all__ = [
    "Part",
    "SourceMetadata",
    "apply_metadata",
    "close_sources",
    "has_internal_mask",
    "of_header",
    "open_source",
    "opened",
    "read_metadata",
    "read_part",
    "read_window",
    "reason",
]

Pixels = npt.NDArray[Any]
Mask = npt.NDArray[np.uint8]
_Key = tuple[object, ...]
_T = TypeVar("_T")
_open_here = threading.local()


def open_source(location: str) -> DatasetReader:
    """The raster at ``location``, opened for reading within :func:`reading_env.reading`.

    Raises InputError where it is no raster of :data:`DRIVERS`.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotGeoreferencedWarning)
            return DatasetReader(vsi_path(location), driver=list(DRIVERS), sharing=False)
    except (RasterioError, UnicodeError) as error:
        raise InputError(
            f"{public_uri(location)}: not a raster that is read here ({', '.join(DRIVERS)}): "
            f"{reason(error, location)}"
        ) from None


@dataclass(frozen=True, slots=True)
class Part:
    """Pixels (bands, height, width) as a source holds them, and what hides some of them.

    ``mask`` (height, width) of 0 and 255 is its internal one; ``alpha`` is which of the bands
    that were read is alpha, from 1.
    """

    pixels: Pixels
    mask: Mask | None
    nodata: float | None
    alpha: int | None


def read_window(
    location: str,
    window: Window,
    pin: Pin | None = None,
    indexes: Sequence[int] | None = None,
) -> tuple[Pixels, Mask | None]:
    """The pixels (bands, height, width) of one window, and its mask (height, width) of 0 and 255.

    The mask is the dataset's internal one, None where it has none. ``pin`` tells
    an open dataset from the one of a replaced source; ``indexes`` are the bands
    to read, numbered from 1, all where left out. Raises SourceReadError naming
    source, window and reason.
    """
    return _tried(location, window, pin, lambda dataset: _read(dataset, window, indexes))


def read_part(
    location: str, window: Window, pin: Pin, indexes: Sequence[int] | None = None
) -> Part:
    """The same with the source's nodata and alpha band. The window's box is the source's own."""
    return _tried(location, window, pin, lambda dataset: _read_part(dataset, window, indexes))


def _tried(
    location: str, window: Window, pin: Pin | None, read: Callable[[DatasetReader], _T]
) -> _T:
    failed = SourceUndecodable if is_local(location) else SourceReadError
    try:
        with SILENCES.watched(location, read_deadlines().silence_s), reading(location):
            return read(_cached(location, pin))
    except InputError as error:
        raise failed(f"window {window.name}: {error}") from None
    except (RasterioError, MemoryError, ValueError, OSError) as error:
        _forget(location)
        kind = failed if isinstance(error, RasterioError) else SourceReadError
        raise kind(
            f"{public_uri(location)}: window {window.name} "
            f"(rows {window.y0}:{window.y1}, columns {window.x0}:{window.x1}) cannot be read: "
            f"{reason(error, location)}"
        ) from None


def read_metadata(location: str) -> SourceMetadata:
    """The source's metadata, from its header. Raises SourceReadError where it cannot be read.

    For sources that planning took: their nodata is what rasterio says it is.
    """
    return of_header(location, metadata_of)


def of_header(location: str, take: Callable[[DatasetReader], _T]) -> _T:
    """What ``take`` says of the source once opened, with the same errors."""
    try:
        with opened(location) as dataset:
            return take(dataset)
    except (RasterioError, InputError) as error:
        raise SourceReadError(
            f"{public_uri(location)}: its metadata cannot be read: {reason(error, location)}"
        ) from None


@contextmanager
def opened(location: str) -> Iterator[DatasetReader]:
    """The raster at ``location`` with the environment that it needs, closed at the end."""
    with reading(location), open_source(location) as dataset:
        yield dataset


def close_sources() -> None:
    """Close every dataset that this thread holds open."""
    cache = _cache()
    while cache:
        cache.popitem()[1].close()


def has_internal_mask(dataset: DatasetReader) -> bool:
    """Whether one mask for all bands lies beside the pixels (neither nodata nor alpha)."""
    flags: list[MaskFlags] = dataset.mask_flag_enums[0]
    return flags == [MaskFlags.per_dataset]


def reason(error: BaseException, location: str) -> str:
    """What GDAL said, without the location's query, which may be a signature."""
    innermost = error
    while innermost.__cause__ is not None:
        innermost = innermost.__cause__
    text = " ".join(str(innermost).split()) or type(innermost).__name__
    return _redacted(text, location).replace(f"'{vsi_path(location)}' ", "")


def _redacted(text: str, location: str) -> str:
    public = public_uri(location)
    return text if public == location else text.replace(location.removeprefix(public), "")


def _read(
    dataset: DatasetReader, window: Window, indexes: Sequence[int] | None
) -> tuple[Pixels, Mask | None]:
    box = RasterioWindow(window.x0, window.y0, window.width, window.height)
    bands = None if indexes is None else list(indexes)
    pixels: Pixels = dataset.read(bands, window=box)
    if not has_internal_mask(dataset):
        return pixels, None
    mask: Mask = dataset.read_masks(1, window=box)
    return pixels, mask


def _read_part(dataset: DatasetReader, window: Window, indexes: Sequence[int] | None) -> Part:
    pixels, mask = _read(dataset, window, indexes)
    kinds = [dataset.colorinterp[band - 1] for band in indexes or dataset.indexes]
    alpha = kinds.index(ColorInterp.alpha) + 1 if ColorInterp.alpha in kinds else None
    return Part(pixels, mask, dataset.nodata, alpha)


def _cache() -> "OrderedDict[_Key, DatasetReader]":
    # A forked child must not use its parent's handles.
    if getattr(_open_here, "pid", None) != os.getpid():
        _open_here.pid, _open_here.datasets = os.getpid(), OrderedDict()
    datasets: OrderedDict[_Key, DatasetReader] = _open_here.datasets
    return datasets


def _cached(location: str, pin: Pin | None) -> DatasetReader:
    cache, key = _cache(), _key(location, pin)
    if key in cache:
        cache.move_to_end(key)
        return cache[key]
    _forget(location)
    cache[key] = open_source(location)
    while len(cache) > MAX_OPEN_PER_THREAD:
        cache.popitem(last=False)[1].close()
    return cache[key]


def _key(location: str, pin: Pin | None) -> _Key:
    if not is_local(location):
        return location, pin, access_mark(location)
    try:
        stat = os.stat(location)
    except OSError as error:
        raise RasterioIOError(error.strerror or "cannot be opened") from None
    return location, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino


def _forget(location: str) -> None:
    cache = _cache()
    for key in [key for key in cache if key[0] == location]:
        cache.pop(key).close()

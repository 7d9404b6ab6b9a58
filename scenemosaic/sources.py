"""Open and read source rasters: an explicit list of drivers, bounded, every failure named."""

import os
import threading
import warnings
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from rasterio.enums import MaskFlags
from rasterio.errors import NotGeoreferencedWarning, RasterioError, RasterioIOError
from rasterio.io import DatasetReader
from rasterio.windows import Window as RasterioWindow

from scenemosaic.errors import InputError, SourceReadError
from scenemosaic.grid import Window
from scenemosaic.locations import is_local, public_uri, vsi_path
from scenemosaic.metadata import SourceMetadata, apply_metadata, metadata_of
from scenemosaic.plan import Pin
from scenemosaic.reading_env import reading

# Never VRT, whatever a file is called: its XML can name any other file.
DRIVERS: Final = ("GTiff", "JP2OpenJPEG", "HFA")
MAX_OPEN_PER_THREAD: Final = 8

__all__ = [
    "SourceMetadata",
    "apply_metadata",
    "close_sources",
    "has_internal_mask",
    "open_source",
    "opened",
    "read_metadata",
    "read_window",
    "reason",
]

Pixels = npt.NDArray[Any]
Mask = npt.NDArray[np.uint8]
_Key = tuple[object, ...]
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


def read_window(
    location: str, window: Window, pin: Pin | None = None
) -> tuple[Pixels, Mask | None]:
    """The pixels (bands, height, width) of one window, and its mask (height, width) of 0 and 255.

    The mask is the dataset's internal one, None where it has none. ``pin`` tells
    an open dataset from the one of a replaced source. Raises SourceReadError
    naming source, window and reason.
    """
    try:
        with reading(location):
            return _read(_cached(location, pin), window)
    except InputError as error:
        raise SourceReadError(f"window {window.name}: {error}") from None
    except (RasterioError, MemoryError, ValueError, OSError) as error:
        _forget(location)
        raise SourceReadError(
            f"{public_uri(location)}: window {window.name} "
            f"(rows {window.y0}:{window.y1}, columns {window.x0}:{window.x1}) cannot be read: "
            f"{reason(error, location)}"
        ) from None


def read_metadata(location: str) -> SourceMetadata:
    """The source's metadata, from its header. Raises SourceReadError where it cannot be read.

    For sources that planning took: their nodata is what rasterio says it is.
    """
    try:
        with opened(location) as dataset:
            return metadata_of(dataset)
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


def _read(dataset: DatasetReader, window: Window) -> tuple[Pixels, Mask | None]:
    box = RasterioWindow(window.x0, window.y0, window.width, window.height)
    pixels: Pixels = dataset.read(window=box)
    if not has_internal_mask(dataset):
        return pixels, None
    mask: Mask = dataset.read_masks(1, window=box)
    return pixels, mask


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
        return location, pin
    try:
        stat = os.stat(location)
    except OSError as error:
        raise RasterioIOError(error.strerror or "cannot be opened") from None
    return location, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino


def _forget(location: str) -> None:
    cache = _cache()
    for key in [key for key in cache if key[0] == location]:
        cache.pop(key).close()

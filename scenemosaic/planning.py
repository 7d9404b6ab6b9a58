"""Sources and options become a plan, or are refused, from headers alone. Nothing is written."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import rasterio
from rasterio.enums import ColorInterp, Interleaving
from rasterio.io import DatasetReader, MemoryFile

from scenemosaic.byte_ranges import range_reader
from scenemosaic.crs_text import normal_wkt
from scenemosaic.errors import InputError, SourceReadError
from scenemosaic.grid import Grid
from scenemosaic.header_checks import check_header, odd_bits
from scenemosaic.jp2_structure import check_jp2
from scenemosaic.locations import canonical_location, is_local, public_uri
from scenemosaic.metadata import (
    SourceMetadata,
    apply_metadata,
    differences,
    metadata_of,
    transform_of,
)
from scenemosaic.nodata import exact_nodata
from scenemosaic.pins import pin_source, verify_pin
from scenemosaic.plan import Pin, Plan, PlanOptions, check_collection, utc_datetime
from scenemosaic.recipe import ENCODING, Recipe
from scenemosaic.recipe_rules import (
    CATEGORICAL,
    ITEM_SIZES,
    LOSSY,
    check_choice,
    default_predictor,
    is_complex,
)
from scenemosaic.scene_time import scene_time
from scenemosaic.sources import has_internal_mask, opened
from scenemosaic.tiff.structure import MAX_TAGS_BYTES
from scenemosaic.tiff_structure import TiffImage, Truncated, tiff_images
from scenemosaic.window_choice import choose_block, choose_window

__all__ = ["PlanOptions", "PlannedScene", "plan_scene", "survey"]

_T = TypeVar("_T")
_COLOURS = (ColorInterp.red, ColorInterp.green, ColorInterp.blue)
_FIELD_NAMES = {"crs_wkt": "CRS", "colorinterp": "colour interpretation", "colormaps": "colour map"}


@dataclass(frozen=True, slots=True)
class PlannedScene:
    """A plan, where its sources lie (not part of it), and what was noticed and handled."""

    plan: Plan
    locations: tuple[str, ...]
    notes: tuple[str, ...]


def plan_scene(sources: Sequence[str], options: PlanOptions) -> tuple[Plan, tuple[str, ...]]:
    """The plan for ``sources``, and their canonical locations. See :func:`survey`."""
    scene = survey(sources, options)
    return scene.plan, scene.locations


def survey(sources: Sequence[str], options: PlanOptions) -> PlannedScene:
    """Pin the sources, check their headers, decide the recipe. Reads no pixel, writes nothing.

    Raises InputError in one line, naming file, reason and what to do, for
    everything that cannot become a mosaic equal to its source; StoreError where
    a remote source cannot be reached.
    """
    _check_options(options)
    location = _only(sources)
    pinned = pin_source(location)
    scene = _survey_pinned(location, pinned.pin, pinned.last_modified, options)
    try:
        verify_pin(pinned.pin, location)
    except SourceReadError as error:
        raise InputError(str(error)) from None
    return scene


def _only(sources: Sequence[str]) -> str:
    if not sources:
        raise InputError("give a source: a GeoTIFF's path, s3://… or https://…")
    if len(sources) > 1:
        raise InputError(
            f"{len(sources)} sources were given: several sources need one target grid, "
            "which this version does not offer yet; give one"
        )
    return canonical_location(sources[0])


def _check_options(options: PlanOptions) -> None:
    """What can be seen without a source, before one is hashed."""
    window: object = options.window
    if window != "auto" and (type(window) is not int or window < 1):
        raise InputError(f'window must be "auto" or a number of pixels, not {window!r}')
    if options.datetime is not None:
        utc_datetime(options.datetime)
    if options.collection is not None:
        check_collection(options.collection)


def _survey_pinned(
    location: str, pin: Pin, last_modified: str | None, options: PlanOptions
) -> PlannedScene:
    name = public_uri(location)
    images = _named(name, lambda: _images(location, pin))
    with opened(location) as dataset:
        notes = _named(name, lambda: check_header(dataset, images))
        metadata = _named(name, lambda: metadata_of(dataset))
        recipe = _named(name, lambda: _recipe(dataset, images, options, notes))
    _named(name, lambda: _check_kept(metadata, recipe))
    notes += _side_files(location)
    time, time_source = scene_time(options.datetime, metadata, last_modified)
    plan = Plan((pin,), recipe, time, time_source, options.collection)
    return PlannedScene(plan, (location,), tuple(f"{name}: {note}" for note in notes))


def _named(name: str, check: Callable[[], _T]) -> _T:
    try:
        return check()
    except (InputError, SourceReadError) as error:
        text = str(error)
        raise InputError(text if text.startswith(name) else f"{name}: {text}") from None


def _images(location: str, pin: Pin) -> list[TiffImage]:
    """The structure of a TIFF; nothing for other formats. Refuses what is cut off."""
    read_at = range_reader(location)
    magic = read_at(0, 12)
    try:
        if magic[:4] in (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+"):
            return tiff_images(read_at, pin.size_bytes)
        check_jp2(magic, read_at, pin.size_bytes)
    except Truncated as error:
        raise InputError(f"it is truncated or damaged: {error}; fetch it again") from None
    return []


def _recipe(
    dataset: DatasetReader, images: list[TiffImage], options: PlanOptions, notes: list[str]
) -> Recipe:
    dtype = str(dataset.dtypes[0])
    _check_lossy(dataset, options, notes)
    grid = Grid(normal_wkt(dataset.crs), transform_of(dataset), dataset.width, dataset.height)
    block = _block(grid, options)
    nbits = _nbits(dataset, images, options, notes)
    interleave = _interleave(dataset, options)
    return Recipe(
        grid=grid,
        dtype=dtype,
        bands=dataset.count,
        nodata=exact_nodata(dtype, dataset.nodata, images[0].nodata if images else None),
        has_mask=has_internal_mask(dataset),
        window_size=_window(grid, dtype, dataset.count, block, options),
        block_size=block,
        compress=options.compress,
        level=options.level,
        predictor=_predictor(dtype, nbits, options),
        interleave=interleave,
        resampling=_resampling(dataset, dtype, options, notes),
        nbits=nbits,
        photometric=_photometric(dataset, interleave, options.compress),
        effort=options.effort,
        encoding_version=ENCODING,
    )


def _nbits(
    dataset: DatasetReader, images: list[TiffImage], options: PlanOptions, notes: list[str]
) -> int | None:
    bits = odd_bits(dataset, images)
    if bits is not None and options.whole_bits:
        if ColorInterp.palette in dataset.colorinterp:
            raise InputError(f"its palette is of {bits} bits: leave out --whole-bits")
        return None
    if bits is not None:
        notes.append(
            f"its samples have {bits} bits and keep them: with --whole-bits the mosaic is "
            "quicker to write and read, and often smaller"
        )
    return bits


def _predictor(dtype: str, nbits: int | None, options: PlanOptions) -> int:
    if options.predictor is not None:
        return options.predictor
    return 1 if nbits is not None else default_predictor(options.compress, dtype)


def _photometric(dataset: DatasetReader, interleave: str, compress: str) -> str | None:
    """Colours as brightness and two differences, where that is what they are: half the bytes."""
    colours = tuple(dataset.colorinterp) == _COLOURS
    return "ycbcr" if compress == "jpeg" and interleave == "pixel" and colours else None


def _check_lossy(dataset: DatasetReader, options: PlanOptions, notes: list[str]) -> None:
    """Classes and transparency mean something by their exact values, which JPEG does not keep."""
    exact = {ColorInterp.palette: "palette's classes", ColorInterp.alpha: "alpha band"}
    compress = options.compress
    found = [name for kind, name in exact.items() if kind in dataset.colorinterp]
    if options.categorical:
        found.append("classes")
    if found and (compress == "jpeg" or (compress in LOSSY and options.categorical)):
        raise InputError(f"{compress} would change its {found[0]}: use deflate or zstd")
    if compress in LOSSY:
        notes.append(f"{compress} is lossy: the mosaic's pixels will be near its own, not the same")


def _block(grid: Grid, options: PlanOptions) -> int:
    if options.block_size is not None:
        return options.block_size
    return choose_block(
        grid.width, grid.height, None if options.window == "auto" else options.window
    )


def _window(grid: Grid, dtype: str, bands: int, block: int, options: PlanOptions) -> int:
    if options.window != "auto":
        return options.window
    bytes_per_pixel = ITEM_SIZES[dtype] * bands
    return choose_window(grid.width, grid.height, block, bytes_per_pixel, options.compress)


def _interleave(dataset: DatasetReader, options: PlanOptions) -> str:
    """The source's own, except where the codec takes one alone."""
    if _lerc_loses_colours(dataset, options.compress):
        if options.interleave == "pixel":
            raise InputError("lerc keeps no colours where alpha is 0, unless interleaved by bands")
        return "band"
    if options.interleave is not None:
        return options.interleave
    if options.compress == "webp" or dataset.count == 1:
        return "pixel"
    if options.compress == "jpeg" and dataset.count not in (1, 3, 4):
        return "band"
    return "band" if dataset.interleaving == Interleaving.band else "pixel"


def _lerc_loses_colours(dataset: DatasetReader, compress: str) -> bool:
    """Whether libtiff would turn an alpha band of 0 and 255 into LERC's mask."""
    kinds = dataset.colorinterp
    byte_rgba = (dataset.count, dataset.dtypes[0]) == (4, "uint8")
    return compress == "lerc" and byte_rgba and kinds[-1] == ColorInterp.alpha


def _resampling(dataset: DatasetReader, dtype: str, options: PlanOptions, notes: list[str]) -> str:
    asked = options.resampling
    classes = options.categorical or ColorInterp.palette in dataset.colorinterp
    if classes and asked is not None:
        check_choice("resampling of classes", asked, CATEGORICAL)
    if asked is not None:
        return asked
    if options.categorical and not is_complex(dtype):
        notes.append("its overviews take mode: classes are not averaged")
        return "mode"
    if classes or is_complex(dtype):
        notes.append("its overviews take nearest: classes and phases are not averaged")
        return "nearest"
    return "average"


def _check_kept(metadata: SourceMetadata, recipe: Recipe) -> None:
    """Put the metadata on a small GeoTIFF and compare what comes back: nothing gets lost unseen."""
    options: dict[str, Any] = {"driver": "GTiff", "width": 16, "height": 16, "sparse_ok": True}
    options |= {"count": recipe.bands, "dtype": recipe.dtype, "interleave": recipe.interleave}
    if recipe.nbits is not None:
        options["nbits"] = recipe.nbits  # a colour map has as many entries as these can tell
    with rasterio.Env(GDAL_PAM_ENABLED="NO"), MemoryFile() as memory:
        with memory.open(**options, transform=rasterio.Affine.translation(1, 1)) as dataset:
            apply_metadata(dataset, metadata)
        if (size_bytes := memory.getbuffer().nbytes) > MAX_TAGS_BYTES:
            raise InputError(
                f"its metadata takes {size_bytes / 2**20:.1f} MiB, and each tile carries it, at "
                f"most {MAX_TAGS_BYTES >> 20} MiB: remove some first"
            )
        with memory.open() as dataset:
            lost = differences(metadata, metadata_of(dataset))
    if lost:
        names = ", ".join(_FIELD_NAMES.get(field, field.replace("_", " ")) for field in lost)
        raise InputError(f"its {names} would change in a GeoTIFF: remove or simplify it first")


def _side_files(location: str) -> list[str]:
    """Files beside a local source that GDAL reads by default: no part of its pin."""
    if not is_local(location):
        return []
    if Path(f"{location}.msk").exists():
        raise InputError(
            f"{location}: its mask lies in a file beside it ({Path(location).name}.msk), and a pin "
            "covers one file: put it inside with gdal_translate -mask mask "
            "--config GDAL_TIFF_INTERNAL_MASK YES"
        )
    beside = [name for name in (f"{location}.aux.xml",) if Path(name).exists()]
    return [f"{Path(name).name} beside it is not read" for name in beside]

"""A header and options become a recipe. Pure."""

from scenemosaic.dtypes import ITEM_SIZES, is_complex
from scenemosaic.errors import InputError
from scenemosaic.planning.header import Header
from scenemosaic.plans.plan import PlanOptions
from scenemosaic.recipes.merge import Merge
from scenemosaic.recipes.recipe import ENCODING, Recipe
from scenemosaic.recipes.recipe_rules import CATEGORICAL, LOSSY, check_choice, default_predictor
from scenemosaic.recipes.window_choice import choose_block, choose_window
from scenemosaic.words import counted

_COLOURS = ("red", "green", "blue")


def decide(
    header: Header, options: PlanOptions, notes: list[str], merge: Merge | None = None
) -> Recipe:
    """The recipe of an image; what is worth knowing is added to ``notes``.

    Raises InputError where the options do not suit the image.
    """
    _check_lossy(header, options, notes)
    block = _block(header, options)
    nbits = _nbits(header, options, notes)
    interleave = _interleave(header, options)
    return Recipe(
        grid=header.grid,
        dtype=header.dtype,
        bands=header.bands,
        nodata=header.nodata,
        has_mask=header.has_mask,
        window_size=_window(header, block, options),
        block_size=block,
        compress=options.compress,
        level=options.level,
        predictor=_predictor(header.dtype, nbits, options),
        interleave=interleave,
        resampling=_resampling(header, options, notes),
        nbits=nbits,
        photometric=_photometric(header, interleave, options.compress),
        effort=options.effort,
        computed=header.computed,
        merge=merge,
        encoding_version=ENCODING,
    )


def _nbits(header: Header, options: PlanOptions, notes: list[str]) -> int | None:
    bits = header.nbits
    if bits is not None and options.whole_bits:
        if header.has_palette:
            raise InputError(f"its palette is of {counted(bits, 'bit')}: leave out --whole-bits")
        return None
    if bits is not None:
        notes.append(
            f"its samples are of {counted(bits, 'bit')} and stay so: with --whole-bits the mosaic "
            "is quicker to write and read, and often smaller"
        )
    return bits


def _predictor(dtype: str, nbits: int | None, options: PlanOptions) -> int:
    if options.predictor is not None:
        return options.predictor
    return 1 if nbits is not None else default_predictor(options.compress, dtype)


def _photometric(header: Header, interleave: str, compress: str) -> str | None:
    """Colours as brightness and two differences, where that is what they are: half the bytes."""
    colours = header.colorinterp == _COLOURS
    return "ycbcr" if compress == "jpeg" and interleave == "pixel" and colours else None


def _check_lossy(header: Header, options: PlanOptions, notes: list[str]) -> None:
    """Classes and transparency mean something by their exact values, which JPEG does not keep."""
    exact = {"palette": "palette's classes", "alpha": "alpha band"}
    compress = options.compress
    found = [name for kind, name in exact.items() if kind in header.colorinterp]
    if options.categorical:
        found.append("classes")
    if found and (compress == "jpeg" or (compress in LOSSY and options.categorical)):
        raise InputError(f"{compress} would change its {found[0]}: use --compress deflate or zstd")
    if compress in LOSSY:
        notes.append(f"{compress} is lossy: the mosaic's pixels will be near its own, not the same")


def _block(header: Header, options: PlanOptions) -> int:
    if options.block_size is not None:
        return options.block_size
    window = None if options.window == "auto" else options.window
    return choose_block(header.grid.width, header.grid.height, window, _pixel_bytes(header))


def _window(header: Header, block: int, options: PlanOptions) -> int:
    if options.window != "auto":
        return options.window
    grid = header.grid
    return choose_window(grid.width, grid.height, block, _pixel_bytes(header), options.compress)


def _pixel_bytes(header: Header) -> int:
    return ITEM_SIZES[header.dtype] * header.bands


def _interleave(header: Header, options: PlanOptions) -> str:
    """The source's own, except where the codec takes one alone."""
    if _lerc_loses_colours(header, options.compress):
        if options.interleave == "pixel":
            raise InputError("lerc keeps no colours where alpha is 0, unless interleaved by bands")
        return "band"
    if options.interleave is not None:
        return options.interleave
    if options.compress == "webp" or header.bands == 1:
        return "pixel"
    if options.compress == "jpeg" and header.bands not in (1, 3, 4):
        return "band"
    return header.interleave


def _lerc_loses_colours(header: Header, compress: str) -> bool:
    """Whether libtiff would turn an alpha band of 0 and 255 into LERC's mask."""
    byte_rgba = (header.bands, header.dtype) == (4, "uint8")
    return compress == "lerc" and byte_rgba and header.colorinterp[-1] == "alpha"


def _resampling(header: Header, options: PlanOptions, notes: list[str]) -> str:
    asked = options.resampling
    classes = options.categorical or header.has_palette
    if classes and asked is not None:
        check_choice("resampling of classes", asked, CATEGORICAL)
    if asked is not None:
        return asked
    if options.categorical and not is_complex(header.dtype):
        notes.append("its overviews take mode: classes are not averaged")
        return "mode"
    if classes or is_complex(header.dtype):
        notes.append("its overviews take nearest: classes and phases are not averaged")
        return "nearest"
    return "average"

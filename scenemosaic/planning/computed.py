"""A source's header and what is asked of its bands become the header of the computed image."""

from dataclasses import replace

from scenemosaic.bandmath.computed import Computed, canonical
from scenemosaic.bandmath.described import described, source_bands
from scenemosaic.bandmath.program import same_nodata
from scenemosaic.canonical import Number
from scenemosaic.dtypes import ITEM_SIZES, is_complex
from scenemosaic.errors import InputError
from scenemosaic.planning.header import Header
from scenemosaic.planning.nodata_choice import chosen_nodata
from scenemosaic.plans.plan import PlanOptions
from scenemosaic.recipes.recipe_rules import check_choice

REALS = tuple(dtype for dtype in ITEM_SIZES if not is_complex(dtype))


def check_computed(options: PlanOptions) -> None:
    """What can be seen without a source. Raises InputError naming the option."""
    if options.expression is not None:
        canonical(options.expression)
        if options.bands is not None:
            raise InputError("give --bands or --expression: an expression names its own bands")
    if options.bands is not None and not all(
        type(band) is int and band > 0 for band in options.bands
    ):
        raise InputError(f"--bands takes numbers from 1, such as 4,3,2, not {options.bands!r:.80}")
    if options.dtype is not None:
        check_choice("--dtype", options.dtype, REALS)


def computed(header: Header, options: PlanOptions, notes: list[str]) -> Header:
    """The header of what ``options`` make of an image; the same one where they ask for nothing.

    Raises InputError, without the file's name, for what this image does not have or hold.
    """
    check_computed(options)
    asked = _asked(header, options)
    _check_bands(header, asked)
    dtype = _dtype(header, asked, options)
    _check_pixels(header, asked, dtype)
    nodata = chosen_nodata(header, asked, dtype, options.nodata)
    if _is_plain(header, asked, dtype, nodata):
        return header
    _note(header, asked, dtype, nodata, notes)
    return made(header, asked, dtype, nodata)


def made(header: Header, computed: Computed, dtype: str, nodata: Number | None) -> Header:
    """The header of the computed image, all being decided."""
    same_type = dtype == header.dtype
    whole = bool(computed.expressions) or computed.unscale or not same_type
    return replace(
        header,
        dtype=dtype,
        bands=computed.count,
        nodata=nodata,
        nbits=None if whole else header.nbits,
        metadata=described(header.metadata, computed, nodata, same_type),
        computed=computed,
    )


def _asked(header: Header, options: PlanOptions) -> Computed:
    if options.expression is not None:
        return Computed(expressions=canonical(options.expression), unscale=options.unscale)
    every = tuple(range(1, header.bands + 1))
    return Computed(bands=options.bands or every, unscale=options.unscale)


def _check_bands(header: Header, asked: Computed) -> None:
    if (most := max(asked.read())) > header.bands:
        option = "--expression" if asked.expressions else "--bands"
        has = "1 band, b1" if header.bands == 1 else f"{header.bands} bands, b1..b{header.bands}"
        raise InputError(f"{option} names b{most}, and it has {has}")
    scales, offsets = header.metadata.scales, header.metadata.offsets
    if asked.unscale and set(scales) == {1.0} and set(offsets) == {0.0}:
        raise InputError("it says no scale and no offset: leave out --unscale")


def _dtype(header: Header, asked: Computed, options: PlanOptions) -> str:
    if options.dtype is not None:
        return options.dtype
    return "float32" if asked.expressions or asked.unscale else header.dtype


def _check_pixels(header: Header, asked: Computed, dtype: str) -> None:
    changed = dtype != header.dtype
    if is_complex(header.dtype) and (asked.expressions or asked.unscale or changed):
        raise InputError(
            f"its pixels are {header.dtype}, of which --bands alone can choose: leave out "
            "--expression, --unscale and --dtype"
        )
    if header.has_palette and not asked.expressions and (changed or asked.unscale):
        raise InputError(
            f"its palette belongs to {header.dtype}: leave out --dtype and --unscale, or give "
            "--expression b1 for its classes without colours"
        )


def _is_plain(header: Header, asked: Computed, dtype: str, nodata: Number | None) -> bool:
    every = tuple(range(1, header.bands + 1))
    same = dtype == header.dtype and same_nodata(nodata, header.nodata)
    return same and not asked.unscale and asked.bands == every


def _note(
    header: Header, asked: Computed, dtype: str, nodata: Number | None, notes: list[str]
) -> None:
    alpha = source_bands(header.metadata).alpha
    hidden = nodata is not None or header.has_mask
    if alpha is not None and asked.bands and alpha not in asked.bands and not hidden:
        notes.append(f"its alpha band b{alpha} is left out: what was transparent is seen")
    if header.dtype in ("int64", "uint64") and (asked.expressions or asked.unscale):
        notes.append("it is computed in double precision: integers beyond 2^53 are rounded")

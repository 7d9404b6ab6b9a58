"""What stands for no value in computed bands."""

import math

import numpy as np

from scenemosaic.bandmath.computed import Computed
from scenemosaic.bandmath.described import source_bands
from scenemosaic.canonical import Number
from scenemosaic.dtypes import is_integer
from scenemosaic.errors import InputError
from scenemosaic.planning.header import Header
from scenemosaic.recipes.recipe_rules import check_nodata
from scenemosaic.sources.nodata import exact_nodata


def chosen_nodata(
    header: Header, asked: Computed, dtype: str, given: float | None
) -> Number | None:
    """The nodata of the computed image: as given, the source's where it serves, NaN, or none.

    Raises InputError where one is needed and none serves.
    """
    if given is not None:
        return _given(dtype, given)
    if not asked.expressions and not asked.unscale:
        return _kept(header, dtype)
    alone = header.has_mask and header.nodata is None
    if is_integer(dtype):
        if not alone:
            _check_needless(header, dtype)
        return None
    return None if alone else math.nan


def _given(dtype: str, given: float) -> Number:
    try:
        nodata = exact_nodata(dtype, float(given), None)
        if nodata is not None:
            check_nodata(dtype, nodata)
            return nodata
    except InputError:
        pass
    raise InputError(f"--nodata {given:g} is not a value of {dtype}: give another")


def _kept(header: Header, dtype: str) -> Number | None:
    nodata = header.nodata
    if nodata is None or dtype == header.dtype:
        return nodata
    try:
        if not is_integer(dtype):
            return _as_float(dtype, float(nodata))
        return _given(dtype, float(nodata))
    except InputError:
        raise InputError(
            f"its nodata {nodata:g} is not a value of {dtype}: give another with --nodata"
        ) from None


def _as_float(dtype: str, nodata: float) -> float:
    check_nodata(dtype, nodata)
    return float(np.dtype(dtype).type(nodata))


def _check_needless(header: Header, dtype: str) -> None:
    """A computed integer may be any: only the user knows which one is free."""
    says = "has nodata" if header.nodata is not None else "is transparent in places"
    if header.nodata is not None or source_bands(header.metadata).alpha is not None:
        raise InputError(f"it {says}, and {dtype} has no value for that: give --nodata")

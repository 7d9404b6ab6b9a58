"""Nodata of a source, exact for its type, or refused by name."""

from typing import Final

from scenemosaic.canonical import Number
from scenemosaic.dtypes import integer_range, is_integer
from scenemosaic.errors import InputError

# rasterio writes nodata as a double with 17 digits; GDAL reads an int64's up to the dot.
_EXACT_DOUBLE: Final = 2**53


def exact_nodata(dtype: str, value: float | None, text: str | None) -> Number | None:
    """Nodata as a value of ``dtype``, None where there is none.

    ``value`` is rasterio's, ``text`` GDAL's own in a GeoTIFF (None elsewhere).
    Raises InputError where it is no value of the type.
    """
    said = text.strip() if text and text.strip() else None
    if value is None and said is None:
        return None
    if not is_integer(dtype):
        return value
    return _integer(dtype, said if said is not None else repr(value))


def _integer(dtype: str, text: str) -> int:
    low, high = integer_range(dtype)
    number = _whole_number(text)
    if number is None or not low <= number <= high:
        raise InputError(
            f"its nodata {text} is not a value of {dtype} ({low}..{high}): "
            "set another with gdal_edit.py -a_nodata, or none with -unsetnodata"
        )
    if abs(number) > _EXACT_DOUBLE:
        raise InputError(
            f"its nodata {text} needs more than the 53 bits that rasterio writes: "
            "set another with gdal_edit.py -a_nodata"
        )
    return number


def _whole_number(text: str) -> int | None:
    try:
        return int(text)
    except ValueError:
        pass
    try:
        number = float(text)
        return int(number) if number == int(number) else None
    except (ValueError, OverflowError):
        return None

"""The types of pixels that a raster may have, by numpy's names. Pure."""

from collections.abc import Mapping
from typing import Final

ITEM_SIZES: Final[Mapping[str, int]] = {
    "int8": 1,
    "uint8": 1,
    "int16": 2,
    "uint16": 2,
    "int32": 4,
    "uint32": 4,
    "int64": 8,
    "uint64": 8,
    "float32": 4,
    "float64": 8,
    "complex64": 8,
    "complex128": 16,
}


def is_integer(dtype: str) -> bool:
    return "int" in dtype


def is_complex(dtype: str) -> bool:
    return dtype.startswith("complex")


def integer_range(dtype: str) -> tuple[int, int]:
    """The least and greatest value of an integer type."""
    bits = 8 * ITEM_SIZES[dtype]
    return (0, 2**bits - 1) if dtype.startswith("u") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)

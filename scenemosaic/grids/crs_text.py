"""One spelling of a CRS: an authority's code where the code says exactly the same, else WKT.

WKT text changes between PROJ releases, codes don't: with a code in the plan,
two installations give one scene the same job ID.
"""

import math
import re
from functools import lru_cache
from typing import Final

import rasterio
from rasterio.crs import CRS
from rasterio.errors import CRSError
from rasterio.session import DummySession

from scenemosaic.errors import InputError

# GDAL takes files and URLs, too: it would read them.
_CODE: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]*:[A-Za-z0-9_]+(\+[0-9]+)?")
_PROJ: Final = re.compile(r"\+proj=[^/\\@]*")
_WKT: Final = re.compile(r"\s*[A-Za-z_]+\s*\[")


@lru_cache(maxsize=64)
def wkt_of(text: str) -> str:
    """The WKT of a CRS given as a code (``EPSG:32631``) or as WKT, as spelled here."""
    return str(_parse(text).to_wkt())


@lru_cache(maxsize=64)
def code_or_wkt(wkt: str) -> str:
    """``EPSG:32631`` where this code's WKT is ``wkt`` to the letter, else ``wkt`` itself."""
    code = _code(_parse(wkt))
    return code if code is not None and wkt_of(code) == wkt else wkt


def normal_wkt(crs: CRS) -> str:
    """The WKT of ``crs``, or of the code that says the same: independent of a file's citation."""
    code = _code(crs)
    if code is not None and CRS.from_string(code) == crs:
        return wkt_of(code)
    return str(crs.to_wkt())


@lru_cache(maxsize=64)
def turn_of(wkt: str) -> float | None:
    """A whole turn in the units of a geographic CRS (360 for degrees); None for other CRSs."""
    crs = CRS.from_wkt(wkt)
    if not crs.is_geographic:
        return None
    return float(round(2 * math.pi / float(crs.units_factor[1]), 6))


def _code(crs: CRS) -> str | None:
    authority = crs.to_authority(confidence_threshold=100)
    return None if authority is None else f"{authority[0]}:{authority[1]}"


def _parse(text: str) -> CRS:
    if not (_CODE.fullmatch(text) or _PROJ.fullmatch(text) or _WKT.match(text)):
        raise InputError(f"not a CRS: {text:.120}: give a code such as EPSG:32632, or WKT")
    try:
        with rasterio.Env(DummySession()):  # else GDAL says it on stderr, too
            return CRS.from_string(text)
    except (CRSError, ValueError, OverflowError) as error:  # EPSG:x is no number
        raise InputError(f"not a CRS: {text:.120}: {error}") from error

"""A grid as canonical JSON holds it."""

from scenemosaic.canonical import Fields
from scenemosaic.errors import InputError
from scenemosaic.grids.crs_text import code_or_wkt, wkt_of
from scenemosaic.grids.grid import Affine6, Grid


def grid_json(grid: Grid) -> dict[str, object]:
    """The JSON value of a grid."""
    return {
        "crs": code_or_wkt(grid.crs_wkt),
        "transform": [float(term) for term in grid.transform],
        "width": grid.width,
        "height": grid.height,
    }


def grid_from_json(value: object, where: str) -> Grid:
    """The inverse of :func:`grid_json`; InputError names the field that is wrong."""
    fields = Fields(value, where)
    a, b, c, d, e, f = fields.floats("transform", 6)
    transform: Affine6 = (a, b, c, d, e, f)
    if a * e == b * d:
        raise InputError(f"{where}.transform has no area: {transform}")
    crs = wkt_of(fields.typed("crs", str))
    grid = Grid(crs, transform, fields.typed("width", int), fields.typed("height", int))
    fields.done()
    return grid

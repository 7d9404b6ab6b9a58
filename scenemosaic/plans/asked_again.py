"""What has to be asked of planning to get a recipe that stands once more. Pure."""

from typing import Any

from scenemosaic.grids.crs_text import code_or_wkt
from scenemosaic.plans.plan import Plan, PlanOptions
from scenemosaic.recipes.recipe import Recipe


def options_of(plan: Plan) -> PlanOptions:
    """What has to be asked of planning so that other sources get the same recipe."""
    recipe = plan.recipe
    return PlanOptions(
        window=recipe.window_size,
        block_size=recipe.block_size,
        compress=recipe.compress,
        level=recipe.level,
        predictor=recipe.predictor,
        interleave=recipe.interleave,
        resampling=recipe.resampling,
        effort=recipe.effort,
        whole_bits=recipe.nbits is None,
        datetime=plan.datetime if plan.datetime_source == "option" else None,
        collection=plan.collection,
        title=plan.title,
        **_computed(recipe) | _merged(recipe),
    )


def _merged(recipe: Recipe) -> dict[str, Any]:
    """The options that ask for the recipe's grid and for how its sources are merged."""
    merge, grid = recipe.merge, recipe.grid
    if merge is None:
        return {}
    a, b, c, d, e, f = grid.transform
    asked: dict[str, Any] = {"method": merge.method, "warp_resampling": merge.warp}
    if merge.method == "count":
        asked |= {"dtype": None, "nodata": None}
    if b or d:  # only sources that lie on it make such a grid
        return asked
    xs, ys = sorted((c, c + a * grid.width)), sorted((f, f + e * grid.height))
    asked |= {"crs": code_or_wkt(grid.crs_wkt), "resolution": (abs(a), abs(e))}
    return asked | {"bounds": (xs[0], ys[0], xs[1], ys[1])}


def _computed(recipe: Recipe) -> dict[str, Any]:
    """The options that ask for the recipe's band maths."""
    computed = recipe.computed
    if computed is None:
        return {}
    by_default = recipe.nodata != recipe.nodata and (computed.expressions or computed.unscale)
    return {
        "bands": computed.bands or None,
        "expression": ", ".join(computed.expressions) or None,
        "unscale": computed.unscale,
        "dtype": recipe.dtype,
        "nodata": None if by_default else recipe.nodata,
    }

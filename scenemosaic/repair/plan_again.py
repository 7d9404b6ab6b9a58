"""The plan of a job, found again from its sources and what its files show. Pure.

A plan proves itself by its job's ID: whatever has that hash is the plan, and nothing else is.
So what no file shows may be tried out.
"""

from collections.abc import Iterator
from dataclasses import fields
from itertools import product
from typing import Final

from scenemosaic.canonical import encode, without
from scenemosaic.plans.plan import Plan, PlanOptions, job_id_of, load_plan
from scenemosaic.recipes.recipe import FIRST_ENCODING, Recipe
from scenemosaic.recipes.recipe_rules import EFFORTS, LEVELS, RESAMPLINGS
from scenemosaic.tiff import ifd
from scenemosaic.tiff.ifd import BadTiff, Directory

_DEFAULTS: Final[dict[str, object]] = {field.name: field.default for field in fields(Recipe)}
_HIDDEN: Final = (
    "encoding_version",
    "photometric",
    "window_size",
    "level",
    "effort",
    "resampling",
)
_COMPRESS: Final = {
    **{1: "none", 5: "lzw", 7: "jpeg", 8: "deflate"},
    **{34887: "lerc", 50000: "zstd", 50001: "webp"},
}
_BITS, _COMPRESSION, _PREDICTOR, _SEPARATE = 258, 259, 317, 2
_WHOLE_BITS: Final = (8, 16, 32, 64, 128)
# Windows up to this are tried even where the image is smaller.
_USUAL_WINDOW_PX: Final = 8192


def options_shown(header: bytes) -> PlanOptions:
    """What the header of a tile or mosaic shows of how it was asked for. BadTiff for no such."""
    directory = ifd.parse(header)[0]
    compress = _COMPRESS.get(_number(directory, _COMPRESSION, 1))
    if compress is None or ifd.TILE_WIDTH not in directory:
        raise BadTiff("a TIFF, and none of this pipeline")
    return PlanOptions(
        block_size=_number(directory, ifd.TILE_WIDTH, 0),
        compress=compress,
        predictor=_number(directory, _PREDICTOR, 1),
        interleave=_interleave(directory),
        whole_bits=_number(directory, _BITS, 1) in _WHOLE_BITS,
    )


def plan_like(plan: Plan, job_id: str) -> Plan | None:
    """The plan of ``job_id``, where it differs from ``plan`` only in what no file shows."""
    value, recipe = plan.to_json(), plan.recipe.to_json()
    shown = {name: recipe[name] for name in recipe if name not in _HIDDEN}
    for hidden in _hidden(plan.recipe):
        data = encode(value | {"recipe": shown | without(hidden, _DEFAULTS)})
        if job_id_of(data) == job_id:
            return load_plan(data, job_id)
    return None


def _hidden(recipe: Recipe) -> Iterator[dict[str, object]]:
    """The likeliest first."""
    hard = [(None, effort) for effort in EFFORTS]
    hard += [(level, "balanced") for level in LEVELS[recipe.compress] or ()]  # type: ignore[misc]
    tried = product(
        range(recipe.encoding_version, FIRST_ENCODING - 1, -1),
        dict.fromkeys((recipe.photometric, None)),
        _windows(recipe),
        hard,
        dict.fromkeys((recipe.resampling, *RESAMPLINGS)),
    )
    for version, photometric, window, (level, effort), resampling in tried:
        values = (version, photometric, window, level, effort, resampling)
        yield dict(zip(_HIDDEN, values, strict=True))


def _windows(recipe: Recipe) -> Iterator[int]:
    yield recipe.window_size
    block, side = recipe.block_size, max(recipe.grid.width, recipe.grid.height, _USUAL_WINDOW_PX)
    yield from range(block, side + block, block)


def _interleave(directory: Directory) -> str | None:
    if _number(directory, ifd.SAMPLES_PER_PIXEL, 1) == 1:
        return None  # both spellings make the same file; planning knows which one is usual
    return "band" if _number(directory, ifd.PLANAR_CONFIG, 1) == _SEPARATE else "pixel"


def _number(directory: Directory, code: int, default: int) -> int:
    tag = directory.get(code)
    return default if tag is None else int(tag.values()[0])

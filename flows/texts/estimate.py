"""How long a job will take: rough, and said so. Pure but for the machine's number of cores."""

import os
from dataclasses import dataclass
from typing import Final

from flows.engines import batches
from flows.engines.limits import Limits
from scenemosaic.explain.mosaic_parts import boxes_raw_bytes, level_raw_bytes, mosaic_raw_bytes
from scenemosaic.mosaic.top import AT_ONCE
from scenemosaic.recipes.recipe import Recipe
from scenemosaic.words import counted

# Imports, and Prefect's server where none runs yet.
START_S: Final = 6.0
# A mosaic's bytes are copied on this machine; where a store is far, its network decides.
COPY_MB_PER_S: Final = 400.0
_MINUTE_S, _HOUR_S, _DAY_S = 60, 3600, 86_400
# Below this rate a codec is so dear that it matters who encodes the smaller levels.
_DEAR_MB_PER_S: Final = 30.0


@dataclass(frozen=True, slots=True)
class Estimate:
    """Seconds of a whole run, nothing of it there yet; networks are not counted."""

    windows: float
    assembly: float
    start: float = START_S

    @property
    def total(self) -> float:
        return self.start + self.windows + self.assembly


def estimate(recipe: Recipe, limits: Limits) -> Estimate:
    """The windows and top boxes by all workers, then what assembly makes by itself."""
    at_once = limits.workers if limits.engine.crosses else min(limits.workers, _cores())
    windows_s = len(recipe.tiling()) * batches.window_seconds(recipe)
    boxes_mb = boxes_raw_bytes(recipe) / 1e6
    workers_s = (windows_s + boxes_mb / batches.mb_per_s(recipe)) / at_once
    encoded_mb = assembled_bytes(recipe) / 1e6
    made_s = encoded_mb / batches.mb_per_s(recipe) / min(AT_ONCE, _cores())
    return Estimate(workers_s, made_s + mosaic_raw_bytes(recipe) / 1e6 / COPY_MB_PER_S)


def assembled_bytes(recipe: Recipe) -> int:
    """The pixels of the levels that assembly encodes by itself."""
    tiling = recipe.tiling()
    above = range(tiling.tile_levels + 1, tiling.last_level + 1)
    return sum(level_raw_bytes(recipe, level) for level in above) - boxes_raw_bytes(recipe)


def as_text(recipe: Recipe, limits: Limits) -> str:
    """A line for people."""
    found = estimate(recipe, limits)
    parts = f"windows {rough(found.windows)}, assembly {rough(found.assembly)}"
    workers = counted(limits.workers, "worker")
    return f"{rough(found.total)} on {workers} ({parts}); rough: idle cores, no network"


def dear_levels(recipe: Recipe) -> list[str]:
    """A line where small windows leave dear work to assembly, which one machine does."""
    tiling = recipe.tiling()
    all_above = tiling.tile_levels == 0 and tiling.last_level > 0
    if not all_above or batches.mb_per_s(recipe) > _DEAR_MB_PER_S:
        return []
    level = "" if recipe.level is None else f" level {recipe.level}"
    return [
        f"levels   windows of {tiling.window_size} carry none: assembly makes all smaller ones, "
        f"in {recipe.compress}{level}; larger windows leave most of that to the workers"
    ]


def rough(seconds: float) -> str:
    """``a few seconds``, ``about 40 s``, ``about 5 min``, ``about 3 h``, ``about 2 days``."""
    if seconds < 10:
        return "a few seconds"
    if seconds < 95:
        return f"about {round(seconds, -1):.0f} s"
    if seconds < 95 * _MINUTE_S:
        return f"about {max(round(seconds / _MINUTE_S), 2)} min"
    if seconds < 36 * _HOUR_S:
        return f"about {max(round(seconds / _HOUR_S), 2)} h"
    return f"about {max(round(seconds / _DAY_S), 2)} days"


def _cores() -> int:
    return os.cpu_count() or 1

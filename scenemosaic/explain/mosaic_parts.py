"""What parts make a mosaic on S3, from how large its runs are. Pure."""

from dataclasses import dataclass

from scenemosaic.explain.memory import pixel_bytes, window_raw_bytes
from scenemosaic.grid import ceil_div
from scenemosaic.recipe import Recipe
from scenemosaic.stores.s3_parts import GATHER_BYTES, MAX_COPY_BYTES, MAX_PARTS, MIN_PART_BYTES


@dataclass(frozen=True, slots=True)
class Parts:
    """About how many parts are copied in the store and how many are gathered and uploaded.

    ``gathered_runs``: runs of tiles that are read for it.
    """

    copied: int
    uploaded: int
    gathered_runs: int

    @property
    def count(self) -> int:
        return self.copied + self.uploaded

    @property
    def is_single_put(self) -> bool:
        """One upload needs no parts."""
        return self.copied == 0 and self.uploaded <= 1

    @property
    def in_two_stages(self) -> bool:
        """More parts than one upload takes."""
        return self.count > MAX_PARTS


def mosaic_parts(recipe: Recipe, ratio: float) -> Parts:
    """The parts where each block shrinks to ``ratio`` of its pixels' bytes."""
    tiling = recipe.tiling()
    windows, copied, gathered_bytes, runs = len(tiling), 0, 0.0, 0
    for level in range(tiling.tile_levels + 1):
        run_bytes = round(window_raw_bytes(recipe) * ratio / 4**level)
        if run_bytes >= MIN_PART_BYTES:
            copied += windows * ceil_div(run_bytes, MAX_COPY_BYTES)
        else:
            gathered_bytes += level_raw_bytes(recipe, level) * ratio
            runs += windows
    above = range(tiling.tile_levels + 1, tiling.last_level + 1)
    gathered_bytes += sum(level_raw_bytes(recipe, level) for level in above) * ratio
    return Parts(copied, 1 + int(gathered_bytes // GATHER_BYTES), runs)


def level_raw_bytes(recipe: Recipe, level: int) -> int:
    """The pixels of a whole level of the mosaic."""
    height, width = recipe.tiling().size_at(level)
    return height * width * pixel_bytes(recipe)


def mosaic_raw_bytes(recipe: Recipe) -> int:
    """The pixels of all its levels."""
    return sum(level_raw_bytes(recipe, k) for k in range(recipe.tiling().last_level + 1))

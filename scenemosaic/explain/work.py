"""What a job asks of S3 and DynamoDB, counted from its recipe. Pure.

A full run at a root of its own, nobody else at work, nothing tried again. Reads of sources
are not among them. What is not exact is an upper bound.
"""

import math
from dataclasses import dataclass
from typing import Final

from scenemosaic import keys
from scenemosaic.explain.mosaic_parts import Parts, mosaic_parts
from scenemosaic.grids.grid import ceil_div
from scenemosaic.machine.software import tile_software
from scenemosaic.manifests.packing import size_bytes
from scenemosaic.manifests.port import Row
from scenemosaic.mosaic.at_hand import KEPT_BYTES
from scenemosaic.mosaic.top_boxes import top_boxes
from scenemosaic.plans.plan import Plan
from scenemosaic.recipes.recipe import Recipe
from scenemosaic.tiff import deflate
from scenemosaic.tile import window_shapes

WRITE_UNIT_BYTES: Final = 1024
READ_UNIT_BYTES: Final = 4096
PAGE_BYTES: Final = 1 << 20
_PARTS_PAGE: Final = 1000
_LIST_PAGE: Final = 1000
# Of a top box: does it stand, a tile's header; then is it there, its front.
_BOX_GETS: Final = 4
# plan.json, the preview, item.json.
_SMALL_PUTS: Final = 3
# Store and manifest are proved once for each root.
_PROBE_PUTS, _PROBE_LISTS, _PROBE_ROWS = 3, 3, 3
# The mosaic's own row; a claim is taken, told of its upload, and given back.
_MOSAIC_ROWS, _CLAIM_ROWS = 1, 4
# item.json, the mosaic's HEAD, plan.json, the probe: whether something is there already.
_LOOKS: Final = 12
_ROW_LOOKS: Final = 4
# Is it finished; what is missing; the gap check; the rows of all tiles.
_PASSES: Final = 4
# All that levels of one tile can choose between.
_DEFLATERS: Final = (*(one.name for one in deflate.CHEAP), deflate.libdeflate(12).name)
# Of rows: a run's UUID, an ETag in quotes, a version ID, a time of day, an SHA-256.
_RUN, _ETAG, _VERSION, _TIME, _SHA256 = 36, 34, 32, 20, 64


@dataclass(frozen=True, slots=True)
class Requests:
    """Requests of one run; ``tile_puts`` and ``row_writes`` are exact, the others at most."""

    tile_puts: int
    other_puts: int  # plan, parts, mosaic, preview, item, probes, listings: billed alike
    gets: int  # and HEADs
    row_writes: int
    other_row_writes: int
    write_units: int
    queries: int
    read_units: int

    @property
    def puts(self) -> int:
        return self.tile_puts + self.other_puts


def requests(plan: Plan, root_uri: str, ratio: float) -> Requests:
    """The requests of a job where blocks shrink to ``ratio`` of their pixels' bytes."""
    recipe, windows = plan.recipe, len(plan.recipe.tiling())
    parts, row_bytes = mosaic_parts(recipe, ratio), worst_row_bytes(plan, root_uri)
    others = _PROBE_ROWS + _MOSAIC_ROWS + _CLAIM_ROWS
    shards = len(keys.partitions(plan.job_id, root_uri, windows))
    pages = shards + windows * row_bytes // PAGE_BYTES
    boxes = len(top_boxes(recipe))
    # A task asks for each row of its boxes.
    rows_again = windows * ceil_div(row_bytes, READ_UNIT_BYTES) if boxes else 0
    return Requests(
        tile_puts=windows,
        other_puts=_SMALL_PUTS + _PROBE_PUTS + _PROBE_LISTS + _mosaic_puts(parts) + _puts(boxes),
        gets=_gets(recipe, parts) + _BOX_GETS * boxes,
        row_writes=windows,
        other_row_writes=others,
        write_units=windows * ceil_div(row_bytes, WRITE_UNIT_BYTES) + others,
        queries=_PASSES * pages,
        read_units=_PASSES * math.ceil(windows * row_bytes / READ_UNIT_BYTES)
        + _ROW_LOOKS
        + rows_again,
    )


def _puts(boxes: int) -> int:
    """Each top box, and a listing of them."""
    return boxes + ceil_div(boxes + 1, _LIST_PAGE) if boxes else 0


def _mosaic_puts(parts: Parts) -> int:
    """One PUT; or begin, parts (in two stages some of them twice), look at them, complete."""
    if parts.is_single_put:
        return 1
    twice = 2 if parts.in_two_stages else 1
    return 2 + twice * (parts.count + 2) + ceil_div(parts.count, _PARTS_PAGE)


def _gets(recipe: Recipe, parts: Parts) -> int:
    tiling = recipe.tiling()
    above = len(tiling) if tiling.last_level > tiling.tile_levels else 0
    shown = 0 if above else len(tiling)  # the preview is of a level that all tiles carry
    sample = 3 + (tiling.last_level + 1) * (2 if recipe.has_mask else 1)
    return _LOOKS + 1 + above + shown + _reads(recipe, parts) + 2 * parts.count + sample


def _reads(recipe: Recipe, parts: Parts) -> int:
    """Of runs that pass through; few bytes are read with the run that is decoded anyway."""
    is_at_hand = parts.gathered_bytes <= KEPT_BYTES and not top_boxes(recipe)
    return 0 if is_at_hand else parts.gathered_runs


def worst_row_bytes(plan: Plan, root_uri: str) -> int:
    """The size of a full window's row as DynamoDB bills it, block sizes that do not shrink."""
    tiling = plan.recipe.tiling()
    window = tiling.window(0)
    shapes = window_shapes(window, plan.recipe)
    blocks = sum(shape.blocks for shape in shapes)
    key = keys.tile_key(plan.job_id, window.name)
    row = Row(
        partition=keys.partition(plan.job_id, root_uri, len(tiling) - 1),
        window=window.name,
        output_uri=f"{root_uri}/{key}",
        bytes=0,
        sha256="0" * _SHA256,
        etag="0" * _ETAG,
        version_id="0" * _VERSION,
        blocks=bytes(16 + 4 * blocks + blocks // 1000),
        crc=(2**32 - 1,) * len(shapes),
        revision=1,
        written_by="0" * _RUN,
        written_at="0" * _TIME,
        software=tile_software(_DEFLATERS if plan.recipe.compress == "deflate" else ()),
    )
    return size_bytes(row)

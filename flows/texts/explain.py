"""What a plan will take, as ``plan --explain`` shows it."""

from dataclasses import asdict

from flows.engines import batches
from flows.engines.limits import Limits
from flows.terminal.progress import in_bytes
from flows.texts.estimate import dear_levels
from scenemosaic.explain import cost as costs
from scenemosaic.explain.cost import Prices
from scenemosaic.explain.memory import process_bytes, window_raw_bytes
from scenemosaic.explain.mosaic_parts import (
    Parts,
    boxes_raw_bytes,
    level_raw_bytes,
    mosaic_parts,
    mosaic_raw_bytes,
)
from scenemosaic.explain.work import requests, worst_row_bytes
from scenemosaic.job import JobSpec
from scenemosaic.mosaic.top_boxes import top_boxes
from scenemosaic.recipes.recipe import Recipe
from scenemosaic.words import counted


def as_json(spec: JobSpec, limits: Limits, ratio: float, prices: Prices) -> dict[str, object]:
    """Windows, batches, memory, requests, bytes, parts and cost."""
    plan, recipe = spec.plan, spec.plan.recipe
    windows = len(recipe.tiling())
    automatic = batches.batch_size(recipe, windows, limits.workers)
    size = limits.windows_per_task or automatic
    asked, parts = requests(plan, spec.root, ratio), mosaic_parts(recipe, ratio)
    stored = 2 * mosaic_raw_bytes(recipe) * ratio
    threads = 1 if limits.engine.crosses else limits.workers
    made = costs.cost(asked, stored, prices)
    return {
        "job_id": plan.job_id,
        "windows": windows,
        "window_size": recipe.window_size,
        "batches": -(-windows // size),
        "windows_per_task": size,
        "engine": limits.engine.name,
        "workers": limits.workers,
        "memory_bytes": {
            "a_process": process_bytes(recipe, threads),
            "window_raw": window_raw_bytes(recipe),
        },
        "requests": {**asdict(asked), "puts": asked.puts},
        "bytes": {
            "raw": level_raw_bytes(recipe, 0),
            "ratio": ratio,
            "tiles_and_mosaic": round(stored),
            "worst_tile": recipe.worst_tile_bytes(),
            "worst_row": worst_row_bytes(plan, spec.root),
        },
        "mosaic": {
            "parts_copied": parts.copied,
            "parts_uploaded": parts.uploaded,
            "one_put": parts.is_single_put,
            "two_stages": parts.in_two_stages,
        },
        "top_boxes": {
            "count": len(top_boxes(recipe)),
            "bytes": round(boxes_raw_bytes(recipe) * ratio),
        },
        "cost_usd": {**asdict(made), "once": made.once, "prices": costs.as_json(prices)},
    }


def _boxes_line(recipe: Recipe, ratio: float) -> list[str]:
    boxes = len(top_boxes(recipe))
    if not boxes:
        return []
    size = in_bytes(round(boxes_raw_bytes(recipe) * ratio))
    return [f"boxes    {boxes} of the mosaic's top levels, about {size}, made by tasks before it"]


def _upload(parts: Parts) -> str:
    """How the mosaic gets to S3."""
    if parts.is_single_put:
        return "the mosaic in one PUT"
    stages = ", in two stages" if parts.in_two_stages else ""
    return (
        f"the mosaic in about {counted(parts.count, 'part')}: {parts.copied} copied in the store, "
        f"{parts.uploaded} uploaded{stages}"
    )


def as_text(spec: JobSpec, limits: Limits, ratio: float, prices: Prices) -> str:
    """The same for people, without what the plan's own lines say."""
    plan, recipe = spec.plan, spec.plan.recipe
    asked, parts = requests(plan, spec.root, ratio), mosaic_parts(recipe, ratio)
    stored = 2 * mosaic_raw_bytes(recipe) * ratio
    made = costs.cost(asked, stored, prices)
    threads = 1 if limits.engine.crosses else limits.workers
    a_process = in_bytes(process_bytes(recipe, threads))
    shrunk = "nothing compresses" if ratio == 1 else f"blocks shrink to {ratio:g} of it"
    return "\n".join(
        [
            f"memory   at most {a_process} a process of {counted(threads, 'thread')} "
            f"({limits.engine.name}); a window is {in_bytes(window_raw_bytes(recipe))} raw",
            f"bytes    {in_bytes(level_raw_bytes(recipe, 0))} raw; tiles and mosaic "
            f"{in_bytes(stored)} if {shrunk} (--ratio {ratio:g})",
            f"S3       {counted(asked.tile_puts, 'tile')} and at most {asked.other_puts} other "
            f"PUTs, {asked.gets} GETs and HEADs (sources not counted)",
            f"DynamoDB {counted(asked.row_writes, 'row')} and at most {asked.other_row_writes} "
            f"others: {asked.write_units} write units, {asked.read_units} read units",
            f"upload   {_upload(parts)}",
            *_boxes_line(recipe, ratio),
            *dear_levels(recipe),
            f"cost     about ${made.once:.4f} once (PUTs {made.puts:.4f}, GETs {made.gets:.4f}, "
            f"rows {made.rows:.4f}), ${made.month:.4f} a month",
            f"prices   {costs.AS_OF}; --price says others",
        ]
    )

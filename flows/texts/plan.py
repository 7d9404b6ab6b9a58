"""A plan as ``--dry-run`` shows it."""

from flows.engines import batches
from flows.engines.limits import Limits
from flows.redact import public_manifest
from flows.terminal.progress import in_bytes
from flows.texts import estimate
from scenemosaic import keys
from scenemosaic.job import JobSpec
from scenemosaic.recipes.recipe import Recipe
from scenemosaic.reuse.likeness import same_windows
from scenemosaic.stored_plan import read_plan
from scenemosaic.words import counted


def as_json(spec: JobSpec, limits: Limits) -> dict[str, object]:
    """Job ID, grid, windows, batches, keys and a rough estimate."""
    recipe, job_id = spec.plan.recipe, spec.plan.job_id
    tiling = recipe.tiling()
    size = _batch_size(spec, limits)
    last = tiling.window(len(tiling) - 1)
    expected = estimate.estimate(recipe, limits)
    return {
        "job_id": job_id,
        "root": spec.root,
        "manifest": public_manifest(spec.manifest),
        "plan": spec.plan.to_json(),
        "windows": len(tiling),
        "window_rows": tiling.rows,
        "window_cols": tiling.cols,
        "window_size": tiling.window_size,
        "levels": tiling.last_level + 1,
        "batches": len(batches.split(range(len(tiling)), size)),
        "windows_per_task": size,
        "workers": limits.workers,
        "keys": {
            "plan": keys.plan_key(job_id),
            "first_tile": keys.tile_key(job_id, tiling.window(0).name),
            "last_tile": keys.tile_key(job_id, last.name),
            "mosaic": keys.mosaic_key(job_id),
            "preview": keys.preview_key(job_id),
            "item": keys.item_key(job_id),
        },
        "estimate": {
            "seconds": round(expected.total),
            "windows_seconds": round(expected.windows),
            "assembly_seconds": round(expected.assembly),
            "worst_tile_bytes": recipe.worst_tile_bytes(),
        },
        "warnings": list(spec.notes),
    }


def as_text(spec: JobSpec, limits: Limits, *more: str) -> str:
    """The same for people, with ``more`` of it before the end."""
    recipe, job_id = spec.plan.recipe, spec.plan.job_id
    tiling, grid = recipe.tiling(), recipe.grid
    value = as_json(spec, limits)
    return "\n".join(
        [
            f"job      {job_id}",
            f"grid     {grid.width} x {grid.height} pixels, {recipe.bands} x {recipe.dtype}",
            *_computed(recipe),
            f"recipe   {recipe.compress}, blocks of {recipe.block_size}, {recipe.resampling}, "
            f"{counted(tiling.last_level + 1, 'level')}",
            *_merged(spec),
            f"windows  {len(tiling)} of {tiling.window_size} pixels "
            f"({counted(tiling.rows, 'row')} x {counted(tiling.cols, 'column')})",
            *_reused(spec),
            f"batches  {value['batches']} of {counted(_batch_size(spec, limits), 'window')} "
            f"on {counted(limits.workers, 'worker')}",
            f"plan     {spec.root}/{keys.plan_key(job_id)}",
            f"tiles    {spec.root}/{keys.tile_key(job_id, tiling.window(0).name)} …",
            f"mosaic   {spec.root}/{keys.mosaic_key(job_id)}",
            f"rows     {public_manifest(spec.manifest)}",
            f"estimate {estimate.as_text(recipe, limits)}",
            f"size     no tile larger than {in_bytes(recipe.worst_tile_bytes())} (whole blocks of "
            f"{recipe.block_size} that do not compress, and room for the header)",
            *more,
            "nothing was written",
        ]
    )


def _reused(spec: JobSpec) -> list[str]:
    """How much of an earlier job is taken over, if any."""
    if spec.reuse is None:
        return []
    count = sum(1 for _ in same_windows(spec.plan, read_plan(spec.place, spec.reuse)))
    return [f"reuse    {count} of them from job {spec.reuse}"]


def _computed(recipe: Recipe) -> list[str]:
    """What is made of the source's bands, if anything."""
    computed = recipe.computed
    if computed is None:
        return []
    made = computed.expressions or tuple(f"b{band}" for band in computed.bands)
    after = " of values scaled as the source says" if computed.unscale else ""
    return [f"bands    {', '.join(made)}{after}; nodata {recipe.nodata}"]


def _merged(spec: JobSpec) -> list[str]:
    merge = spec.plan.recipe.merge
    if merge is None:
        return []
    warped = "none resampled" if merge.warp is None else f"resampled by {merge.warp}"
    sources = counted(len(spec.plan.sources), "source")
    return [f"sources  {sources}, {merge.method}, {warped}"]


def _batch_size(spec: JobSpec, limits: Limits) -> int:
    recipe = spec.plan.recipe
    automatic = batches.batch_size(recipe, len(recipe.tiling()), limits.workers)
    return limits.windows_per_task or automatic

"""How much of a mosaic on S3 never passes through the worker, by the parts that are planned."""

from bench.scene import strip
from scenemosaic.mosaic.assembly import assembled, tiles_in_order
from scenemosaic.recipes.window_choice import choose_block, choose_window
from scenemosaic.stores.s3 import S3Store
from scenemosaic.stores.s3_parts import CopyPart, plan_parts
from tests.mosaic.memory import recipe_for, tile_job

SIDE = 4096


def test_most_of_level_0_is_copied_inside_the_store_at_the_automatic_window() -> None:
    pixels = strip(1, 0, (3, SIDE, SIDE), "uint16")  # deflate keeps half of it, as of real scenes
    block = choose_block(SIDE, SIDE, None)
    window = choose_window(SIDE, SIDE, block, 6, "deflate")
    job = tile_job(pixels, recipe_for(pixels, window, block_size=block))
    tiles = tiles_in_order(job.plan, job.rows)
    level_0 = sum(tile.row.bytes - tile.run_offsets()[0] for tile in tiles)
    copying = S3Store.capabilities.copying
    with assembled(tiles, job.plan.recipe, job.get, copying=copying) as made:
        parts = plan_parts(made.stitched.segments)
    starts = {tile.key: tile.run_offsets()[0] for tile in tiles}
    copied = 0
    for part in parts:
        if isinstance(part, CopyPart):
            end = part.run.offset + part.run.size_bytes
            copied += max(end - max(part.run.offset, starts[part.run.key]), 0)
    assert copied / level_0 >= 0.6

"""A job in memory with its top boxes beside its tiles."""

from dataclasses import dataclass, field
from typing import Any

from scenemosaic.mosaic.assembly import assembled, tiles_in_order
from scenemosaic.mosaic.box_bytes import StandingBox
from scenemosaic.mosaic.top import Box
from scenemosaic.mosaic.top_boxes import box_key, numbers_of, top_boxes
from scenemosaic.top_boxes.making import make_box
from tests.mosaic.memory import Array, MemoryJob, recipe_for, segment_bytes, tile_job


@dataclass
class BoxedJob:
    """Tiles and boxes by key, and what of them was read: key, offset, length."""

    job: MemoryJob
    boxes: dict[Box, StandingBox] = field(default_factory=dict)
    data: dict[str, bytes] = field(default_factory=dict)
    read: list[tuple[str, int, int]] = field(default_factory=list)

    def get(self, key: str, offset: int, size_bytes: int, etag: str) -> bytes:
        self.read.append((key, offset, size_bytes))
        return self.data[key][offset : offset + size_bytes]

    def make(self) -> None:
        plan, tiles = self.job.plan, tiles_in_order(self.job.plan, self.job.rows)
        for box in top_boxes(plan.recipe):
            own = [tiles[number] for number in numbers_of(plan.recipe, box)]
            made, key = make_box(box, own, plan.recipe, self.get), box_key(plan, box, own)
            self.data[key] = made.data
            self.boxes[box] = StandingBox(key, "e", len(made.data), made.front_bytes)

    def mosaic(self, boxes: dict[Box, StandingBox]) -> tuple[bytes, bytes]:
        """Mosaic and preview. What assembly reads before bytes are copied stands in ``read``."""
        self.read.clear()
        plan = self.job.plan
        tiles = tiles_in_order(plan, self.job.rows)
        with assembled(tiles, plan.recipe, self.get, boxes) as made:
            preview = made.preview()
            read = list(self.read)
            data = b"".join(segment_bytes(one, self.get) for one in made.stitched.segments)
        self.read = read
        return data, preview


def boxed_job(pixels: Array, window: int, mask: Array | None = None, **options: Any) -> BoxedJob:
    """The job of an image in blocks of 32, and all its boxes."""
    options.setdefault("block_size", 32)
    recipe = recipe_for(pixels, window, has_mask=mask is not None, **options)
    job = tile_job(pixels, recipe, mask)
    made = BoxedJob(job, data={key: tile.data for key, tile in job.tiles.items()})
    made.make()
    made.read.clear()
    return made

"""Half-open pixel boxes, and the fixed cells in which sources are warped."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

# Warped pixels are made cell by cell of this lattice, whatever the windows are: they cannot
# depend on these then. Beside windows of 512 and more, a cell's own margins cost little.
CELL_PX: Final = 256


@dataclass(frozen=True, slots=True, order=True)
class Box:
    """The pixels [y0, y1) x [x0, x1)."""

    y0: int
    x0: int
    y1: int
    x1: int

    @property
    def height(self) -> int:
        return self.y1 - self.y0

    @property
    def width(self) -> int:
        return self.x1 - self.x0

    @property
    def pixels(self) -> int:
        return self.height * self.width

    def meets(self, other: "Box") -> "Box | None":
        """The pixels of both, or None."""
        both = Box(
            max(self.y0, other.y0),
            max(self.x0, other.x0),
            min(self.y1, other.y1),
            min(self.x1, other.x1),
        )
        return both if both.y1 > both.y0 and both.x1 > both.x0 else None

    def moved(self, rows: int, cols: int) -> "Box":
        return Box(self.y0 + rows, self.x0 + cols, self.y1 + rows, self.x1 + cols)

    def inside(self, outer: "Box") -> tuple[slice, slice]:
        """Where its pixels lie in an array of ``outer``'s."""
        rows = slice(self.y0 - outer.y0, self.y1 - outer.y0)
        return rows, slice(self.x0 - outer.x0, self.x1 - outer.x0)


def cells(part: Box, height: int, width: int) -> Iterator[Box]:
    """The lattice's cells that hold pixels of ``part``, cut at the image's edges alone."""
    image = Box(0, 0, height, width)
    for y in range(part.y0 // CELL_PX * CELL_PX, part.y1, CELL_PX):
        for x in range(part.x0 // CELL_PX * CELL_PX, part.x1, CELL_PX):
            cell = Box(y, x, y + CELL_PX, x + CELL_PX).meets(image)
            if cell is not None:
                yield cell


def quarters(box: Box) -> Iterator[Box]:
    """The box in four, or fewer where it is one pixel wide."""
    y, x = (box.y0 + box.y1 + 1) // 2, (box.x0 + box.x1 + 1) // 2
    for y0, y1 in ((box.y0, y), (y, box.y1)):
        for x0, x1 in ((box.x0, x), (x, box.x1)):
            if y1 > y0 and x1 > x0:
                yield Box(y0, x0, y1, x1)

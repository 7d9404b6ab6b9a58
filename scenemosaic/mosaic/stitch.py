"""The pure part of assembly: rows in, the mosaic's levels, header and segments out."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from operator import sub

from scenemosaic.errors import IncompleteError
from scenemosaic.grids.grid import Window, ceil_div
from scenemosaic.keys import tile_key
from scenemosaic.manifests.port import Row
from scenemosaic.mosaic.block_order import stored_order
from scenemosaic.mosaic.pieces import Piece, PieceLevel
from scenemosaic.recipes.recipe import Recipe
from scenemosaic.stores.port import Copying, CopyRun, Literal, Segment
from scenemosaic.tiff.ifd import BadTiff
from scenemosaic.tiff.layout import Placed, Template, plan_file
from scenemosaic.tiff.runs import Crcs, Sizes, run_bytes, unpack
from scenemosaic.tile import level_shape, window_shapes


@dataclass(frozen=True, slots=True)
class StoredTile:
    """One window's tile as its row describes it, block sizes unpacked, level 0 first.

    ``row_crcs``: by level, of each block row; None where there is one alone, or the row does
    not say.
    """

    window: Window
    key: str
    row: Row
    sizes: tuple[Sizes, ...]
    frame_bytes: int
    header_crc: int | None
    row_crcs: tuple[Crcs | None, ...]

    def run_offsets(self) -> list[int]:
        """Where each level's run begins in the tile, level 0 first; the smallest comes first."""
        lengths = (run_bytes(sizes, self.frame_bytes) for sizes in self.sizes)
        return list(accumulate(lengths, sub, initial=self.row.bytes))[1:]

    @property
    def header_bytes(self) -> int:
        return self.run_offsets()[-1]


@dataclass(frozen=True, slots=True)
class Stitched:
    """A mosaic ready to be composed. ``digest`` is known without its bytes being read."""

    segments: tuple[Segment, ...]
    size_bytes: int
    digest: str


def stored_tile(job_id: str, window: Window, row: Row, recipe: Recipe) -> StoredTile:
    """A row's tile. Raises IncompleteError or BadTiff where the row cannot be this window's."""
    shapes = window_shapes(window, recipe)
    if row.blocks is None or len(row.crc) != len(shapes):
        raise IncompleteError(f"the manifest row of window {window.name} lacks its block sizes")
    packed = unpack(row.blocks, [shape.blocks for shape in shapes])
    key, frame = tile_key(job_id, window.name), recipe.frame_bytes
    row_crcs = _by_level(packed.row_crcs, [shape.block_rows for shape in shapes])
    tile = StoredTile(window, key, row, packed.sizes, frame, packed.header_crc, row_crcs)
    if tile.header_bytes <= 0:
        raise IncompleteError(f"the manifest row of window {window.name} contradicts itself")
    return tile


def _by_level(row_crcs: Crcs | None, counts: Sequence[int]) -> tuple[Crcs | None, ...]:
    if row_crcs is None:
        return (None,) * len(counts)
    if row_crcs.size != sum(counts):
        raise BadTiff(f"the row's checksums are not those of {sum(counts)} block rows")
    # Copies: a view would keep them all, and of many tiles that is much.
    return tuple(
        row_crcs[end - count : end].copy() if count > 1 else None
        for end, count in zip(accumulate(counts), counts, strict=True)
    )


def tile_levels(tiles: Sequence[StoredTile], recipes: Sequence[Recipe]) -> list[PieceLevel]:
    """The mosaic's levels as the runs of all tiles, each in the order of the windows.

    ``recipes`` are those of the tiles' levels, level 0 first: their own, and that of their seeds.
    """
    by_tile = [_pieces(tile, recipes) for tile in tiles]
    return [
        PieceLevel(
            level_shape(recipe, *recipe.tiling().size_at(level)),
            recipe.window_size >> level,
            [pieces[level] for pieces in by_tile],
            recipe,
        )
        for level, recipe in enumerate(recipes)
    ]


def _pieces(tile: StoredTile, recipes: Sequence[Recipe]) -> list[Piece]:
    offsets = tile.run_offsets()
    spans = zip(offsets, (tile.row.bytes, *offsets), strict=False)
    return [
        _piece(tile, level, recipe, *span)
        for level, (recipe, span) in enumerate(zip(recipes, spans, strict=True))
    ]


def _piece(tile: StoredTile, level: int, recipe: Recipe, start: int, end: int) -> Piece:
    scale, blocks = 1 << level, (recipe.window_size >> level) // recipe.block_size
    window, crc = tile.window, tile.row.crc[level]
    shape = level_shape(recipe, ceil_div(window.height, scale), ceil_div(window.width, scale))
    placed = Placed(window.row * blocks, window.col * blocks, shape, tile.sizes[level])
    run = CopyRun(tile.key, tile.row.etag, start, end - start, crc) if end > start else None
    return Piece(placed, run, crc, f"{tile.row.sha256}:{level}", tile.row_crcs[level])


def stitch(template: Template, levels: Sequence[PieceLevel], copying: Copying) -> Stitched:
    """The mosaic of ``levels`` (level 0 first): header, then smallest level to level 0."""
    stored = [stored_order(level, copying) for level in levels]
    layout = plan_file(template, [one.level for one in stored], shift=(0, 0))
    sources = [source for one in reversed(stored) for source in one.sources]
    segments = (Literal(layout.header), *sources)
    return Stitched(segments, layout.size_bytes, _digest(layout.header, levels))


def _digest(header: bytes, levels: Sequence[PieceLevel]) -> str:
    """SHA-256 over the header and each run's digest, in the order of the file."""
    digest = hashlib.sha256(header)
    for line in _run_digests(levels):
        digest.update(line)
    return digest.hexdigest()


def _run_digests(levels: Sequence[PieceLevel]) -> Iterator[bytes]:
    for level in reversed(levels):
        for piece in level.pieces:
            if piece.source is not None:
                yield f"{piece.digest}\n".encode()

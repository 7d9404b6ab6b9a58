"""What all tiles must have in common before their blocks may stand in one file.

Tiles of one recipe have it by themselves where the same versions made them. So one tile
of every other set of versions is looked at, whose rows tell; lossy blocks of several
versions of a codec are refused, since their pixels differ.
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from scenemosaic.crc32 import crc32
from scenemosaic.errors import IncompleteError
from scenemosaic.machine.software import DEFLATE, LOSSY_CODEC
from scenemosaic.mosaic.stitch import StoredTile
from scenemosaic.recipes.recipe import Recipe
from scenemosaic.recipes.recipe_rules import LOSSY
from scenemosaic.tiff.layout import Template
from scenemosaic.tiff.template import other_tags, template_from_header
from scenemosaic.words import some

_PIECE_BYTES: Final = 8 << 20
# ``read(tile, offset, size_bytes)`` gives a range of a tile.
Read = Callable[[StoredTile, int, int], bytes]


def check_contract(tiles: Sequence[StoredTile], recipe: Recipe, read: Read) -> Template:
    """The template of the first tile, which all others keep to.

    Raises IncompleteError naming windows and reason, and what to do.
    """
    made = _by_versions(tiles)
    _check_lossy(made, recipe)
    template = template_from_header(_proven_header(tiles[0], read))
    for first, *_ in made.values():
        if first is tiles[0]:
            continue
        if other := _other(template, read(first, 0, first.header_bytes)):
            raise IncompleteError(
                f"the tile of window {first.window.name} has other {other} than that of window "
                f"{tiles[0].window.name}, and would not decode in one file: repair window "
                f"{first.window.name}"
            )
    return template


def _proven_header(tile: StoredTile, read: Read) -> bytes:
    """The header that the mosaic's is made of, compared with what its row says."""
    header = read(tile, 0, tile.header_bytes)
    if not _is_right(header, tile, read):
        raise IncompleteError(
            f"the tile of window {tile.window.name} holds other bytes than its manifest row says: "
            "run repair"
        )
    return header


def _is_right(header: bytes, tile: StoredTile, read: Read) -> bool:
    if tile.header_crc is not None:
        return crc32(header) == tile.header_crc
    # Earlier rows have no CRC of it: the tile is read whole, once.
    digest = hashlib.sha256(header)
    for offset in range(tile.header_bytes, tile.row.bytes, _PIECE_BYTES):
        digest.update(read(tile, offset, min(_PIECE_BYTES, tile.row.bytes - offset)))
    return digest.hexdigest() == tile.row.sha256


def _other(template: Template, header: bytes) -> str:
    return some(other_tags(template, template_from_header(header)))


def _by_versions(
    tiles: Iterable[StoredTile],
) -> dict[tuple[tuple[str, str], ...], list[StoredTile]]:
    made: dict[tuple[tuple[str, str], ...], list[StoredTile]] = {}
    known: dict[int, list[StoredTile]] = {}
    for tile in tiles:
        software = tile.row.software
        # Rows share the mapping: most are found without being sorted.
        group = known.get(id(software))
        if group is None:
            versions = (item for item in software.items() if item[0] != DEFLATE)
            group = made.setdefault(tuple(sorted(versions)), [])
            known[id(software)] = group
        group.append(tile)
    return made


def _check_lossy(
    made: Mapping[tuple[tuple[str, str], ...], Sequence[StoredTile]], recipe: Recipe
) -> None:
    if recipe.compress not in LOSSY:
        return
    by_codec: dict[str, list[StoredTile]] = {}
    for versions, tiles in made.items():
        by_codec.setdefault(dict(versions).get(LOSSY_CODEC, "unknown"), []).extend(tiles)
    if len(by_codec) > 1:
        fewest = min(by_codec.values(), key=len)
        raise IncompleteError(
            f"its tiles were made by several versions of GDAL ({', '.join(sorted(by_codec))}), and "
            f"{recipe.compress} of each is another: repair the windows "
            f"{some([tile.window.name for tile in fewest])}"
        )

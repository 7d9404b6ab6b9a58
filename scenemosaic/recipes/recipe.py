"""The recipe: everything that decides the pixels, validated at construction."""

from dataclasses import dataclass, field
from typing import Final

from scenemosaic.bandmath.computed import Computed, computed_from_json
from scenemosaic.canonical import Fields, Number, encode, spell_number, without
from scenemosaic.dtypes import ITEM_SIZES
from scenemosaic.errors import InputError
from scenemosaic.grids.grid import Grid, Tiling
from scenemosaic.grids.grid_json import grid_from_json, grid_json
from scenemosaic.recipes import recipe_rules as rules
from scenemosaic.recipes.merge import Merge, merge_from_json
from scenemosaic.recipes.shared_rules import check_shared

# The version of new plans, and that of plans which name none.
ENCODING: Final = 4
FIRST_ENCODING: Final = 1
_DEFAULTS: Final[dict[str, object]] = {
    "nodata": None,
    "has_mask": False,
    "block_size": 512,
    "compress": "deflate",
    "level": None,
    "predictor": 1,
    "interleave": "pixel",
    "resampling": "average",
    "nbits": None,
    "photometric": None,
    "effort": "balanced",
    "computed": None,
    "merge": None,
    "encoding_version": FIRST_ENCODING,
}
# What stands around each block, by encoding version; see scenemosaic.tiff.runs.
_FRAME_BYTES: Final = {FIRST_ENCODING: 8, 2: 0, 3: 0, ENCODING: 0}


@dataclass(frozen=True, slots=True, eq=False)
class Recipe:
    """What is made: the grid, the pixels' type, and how they are cut, packed and reduced.

    ``nodata`` is an int for integer types and a float for the others (NaN and
    infinities included); ``has_mask`` says that one internal mask for all bands
    is carried. ``level`` None means what ``effort`` says under this
    ``encoding_version``. ``nbits`` are the bits of a sample where they are fewer than
    the type has; ``photometric`` is ``ycbcr`` where JPEG holds colours that way.
    ``computed`` says what is made of the sources' bands, None where they are taken as they are.
    ``merge`` says how several sources become one image, or one comes onto another grid;
    None where the mosaic is its one source. Equal where the canonical JSON is equal.
    """

    grid: Grid
    dtype: str
    bands: int
    nodata: Number | None
    has_mask: bool
    window_size: int
    block_size: int = 512
    compress: str = "deflate"
    level: int | None = None
    predictor: int = 1
    interleave: str = "pixel"
    resampling: str = "average"
    nbits: int | None = None
    photometric: str | None = None
    effort: str = "balanced"
    computed: Computed | None = None
    merge: Merge | None = None
    encoding_version: int = FIRST_ENCODING
    _json: bytes = field(default=b"", init=False, repr=False)

    def __post_init__(self) -> None:
        rules.check_choice("encoding_version", self.encoding_version, tuple(_FRAME_BYTES))
        rules.check_pixels(self.dtype, self.bands, self.nodata)
        rules.check_codec(self.compress, self.level, self.predictor, self.dtype)
        rules.check_nbits(self.nbits, self.dtype, self.compress, self.predictor, self.nodata)
        rules.check_photometric(self.photometric, self.compress, self.interleave, self.bands)
        rules.check_effort(self.effort, self.compress, self.level)
        rules.check_interleave(self.compress, self.interleave, self.bands)
        rules.check_exact_nodata(self.compress, self.nodata)
        rules.check_resampling(self.resampling, self.dtype)
        rules.check_tiling(self.tiling())
        _check_count(self.computed, self.merge, self.bands)
        if self.merge is not None:
            check_shared(self.merge.shared, self.bands)
        rules.check_tile_bytes(self.worst_tile_bytes(), self.window_size)
        # At once: Prefect takes a field that changes while it looks for a value of its own.
        object.__setattr__(self, "_json", encode(self.to_json()))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Recipe):
            return NotImplemented
        return self._json == other._json

    def __hash__(self) -> int:
        return hash(self._json)

    def tiling(self) -> Tiling:
        """The windows of this recipe."""
        return Tiling(self.grid.width, self.grid.height, self.window_size, self.block_size)

    @property
    def frame_bytes(self) -> int:
        """What stands around each stored block: see :mod:`scenemosaic.tiff.runs`."""
        return _FRAME_BYTES[self.encoding_version]

    def worst_tile_bytes(self) -> int:
        """An upper bound of a tile's size: all blocks incompressible, all levels, the header."""
        bytes_per_pixel = ITEM_SIZES[self.dtype] * self.bands
        return rules.worst_tile_bytes(self.tiling(), bytes_per_pixel, self.has_mask, self.compress)

    def to_json(self) -> dict[str, object]:
        """The canonical JSON value: defaults omitted."""
        values: dict[str, object] = {
            "grid": grid_json(self.grid),
            "dtype": self.dtype,
            "bands": self.bands,
            "nodata": None if self.nodata is None else spell_number(self.nodata),
            "has_mask": self.has_mask,
            "window_size": self.window_size,
            "block_size": self.block_size,
            "compress": self.compress,
            "level": self.level,
            "predictor": self.predictor,
            "interleave": self.interleave,
            "resampling": self.resampling,
            "nbits": self.nbits,
            "photometric": self.photometric,
            "effort": self.effort,
            "computed": None if self.computed is None else self.computed.to_json(),
            "merge": None if self.merge is None else self.merge.to_json(),
            "encoding_version": self.encoding_version,
        }
        return without(values, _DEFAULTS)


def recipe_from_json(value: object) -> Recipe:
    """The recipe that :meth:`Recipe.to_json` wrote; InputError names the field that is wrong."""
    fields = Fields(value, "recipe")
    recipe = Recipe(
        grid=grid_from_json(fields.take("grid"), "recipe.grid"),
        dtype=fields.typed("dtype", str),
        bands=fields.typed("bands", int),
        nodata=fields.number("nodata", None),
        has_mask=fields.typed("has_mask", bool, False),
        window_size=fields.typed("window_size", int),
        block_size=fields.typed("block_size", int, 512),
        compress=fields.typed("compress", str, "deflate"),
        level=fields.typed("level", int, None),
        predictor=fields.typed("predictor", int, 1),
        interleave=fields.typed("interleave", str, "pixel"),
        resampling=fields.typed("resampling", str, "average"),
        nbits=fields.typed("nbits", int, None),
        photometric=fields.typed("photometric", str, None),
        effort=fields.typed("effort", str, "balanced"),
        computed=_computed(fields.take("computed", None)),
        merge=_merge(fields.take("merge", None)),
        encoding_version=fields.typed("encoding_version", int, FIRST_ENCODING),
    )
    fields.done()
    return recipe


def _check_count(computed: Computed | None, merge: Merge | None, bands: int) -> None:
    counted = merge is not None and merge.method == "count"
    if computed is not None and computed.count != bands and not counted:
        raise InputError(f"the recipe computes {computed.count} bands and holds {bands}")


def _merge(value: object) -> Merge | None:
    return None if value is None else merge_from_json(value)


def _computed(value: object) -> Computed | None:
    return None if value is None else computed_from_json(value)

"""How sources become one image: the part of a recipe that only several sources, or a grid, need."""

from dataclasses import dataclass, fields
from typing import Any, Final

from scenemosaic.canonical import Fields, read_number, spell_number, without
from scenemosaic.errors import InputError
from scenemosaic.image_metadata import Colors, Namespaces, Pairs
from scenemosaic.recipes.recipe_rules import check_choice

# Which source counts is a matter of order in the first two alone.
ORDERED: Final = ("first", "last")
METHODS: Final = (*ORDERED, "min", "max", "mean", "median", "count")
# Kernels of areas weigh every source pixel of which they see a part.
AREAS: Final = ("average", "mode", "rms")
WARPS: Final = ("nearest", "bilinear", "cubic", "cubic_spline", "lanczos", *AREAS)


@dataclass(frozen=True, slots=True)
class Shared:
    """What all sources say of themselves, less what the recipe holds. Tuples in band order."""

    tags: Namespaces = ()
    band_tags: tuple[Namespaces, ...] = ()
    descriptions: tuple[str, ...] = ()
    units: tuple[str, ...] = ()
    scales: tuple[float, ...] = ()
    offsets: tuple[float, ...] = ()
    colorinterp: tuple[str, ...] = ()
    colormaps: tuple[Colors | None, ...] = ()


@dataclass(frozen=True, slots=True)
class Merge:
    """The method that decides between sources, and the kernel that puts them on the grid.

    ``warp`` is None where every source lies on the grid already: nothing is resampled.
    """

    shared: Shared
    method: str = "first"
    warp: str | None = None

    def __post_init__(self) -> None:
        check_choice("method", self.method, METHODS)
        check_choice("warp resampling", self.warp, (None, *WARPS))

    def to_json(self) -> dict[str, object]:
        """The canonical JSON value: defaults omitted."""
        values: dict[str, object] = {"method": self.method, "warp": self.warp}
        kept = without(values, {"method": "first", "warp": None})
        return kept | {"shared": _shared_json(self.shared)}


def merge_from_json(value: object) -> Merge:
    """The inverse of :meth:`Merge.to_json`; InputError names the field that is wrong."""
    found = Fields(value, "recipe.merge")
    merge = Merge(
        _shared(found.take("shared")),
        found.typed("method", str, "first"),
        found.typed("warp", str, None),
    )
    found.done()
    return merge


def _shared_json(shared: Shared) -> dict[str, object]:
    values = {field.name: _lists(getattr(shared, field.name)) for field in fields(Shared)}
    return {name: value for name, value in values.items() if value}


def _lists(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_lists(one) for one in value]
    return spell_number(value) if isinstance(value, float) else value


def _shared(value: object) -> Shared:
    found = Fields(value, "recipe.merge.shared")
    given = {field.name: found.take(field.name, []) for field in fields(Shared)}
    found.done()
    try:
        return Shared(
            tags=_namespaces(given["tags"]),
            band_tags=tuple(map(_namespaces, _list(given["band_tags"]))),
            descriptions=tuple(map(_text, _list(given["descriptions"]))),
            units=tuple(map(_text, _list(given["units"]))),
            scales=tuple(map(_float, _list(given["scales"]))),
            offsets=tuple(map(_float, _list(given["offsets"]))),
            colorinterp=tuple(map(_text, _list(given["colorinterp"]))),
            colormaps=tuple(map(_colors, _list(given["colormaps"]))),
        )
    except (TypeError, ValueError) as error:
        raise InputError(f"recipe.merge.shared is not what planning writes: {error}") from None


def _namespaces(value: object) -> Namespaces:
    return tuple((_text(name), _pairs(pairs)) for name, pairs in _list(value))


def _pairs(value: object) -> Pairs:
    return tuple((_text(key), _text(text)) for key, text in _list(value))


def _colors(value: object) -> Colors | None:
    if value is None:
        return None
    return tuple((int(at), (int(r), int(g), int(b), int(a))) for at, (r, g, b, a) in _list(value))


def _list(value: object) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError(f"{value!r:.80} is no list")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.80} is no text")
    return value


def _float(value: object) -> float:
    return float(read_number(value, "recipe.merge.shared"))

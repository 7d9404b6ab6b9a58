"""Whether sources go together as one image, and what they share. Pure."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from scenemosaic.bandmath.computed import Computed
from scenemosaic.errors import InputError
from scenemosaic.image_metadata import Namespaces, SourceMetadata
from scenemosaic.planning.header import Header

_T = TypeVar("_T")
_STATISTICS = "STATISTICS_"


@dataclass(frozen=True, slots=True)
class Named:
    """A source's image (its bands chosen or computed) under the source's public name."""

    name: str
    image: Header


def check_together(sources: Sequence[Named]) -> None:
    """InputError, naming two sources, where their pixels mean different things."""
    first = sources[0]
    for other in sources[1:]:
        for what, value, remedy in _PIXELS:
            one, two = value(first.image), value(other.image)
            if one != two:
                raise InputError(
                    f"{other.name}: its {what} ({_short(two)}) and that of {first.name} "
                    f"({_short(one)}) do not go together: {remedy}"
                )
        _check_units(first, other)


def _kinds(image: Header) -> tuple[str, ...]:
    """Only those that change what a value is."""
    return tuple(kind if kind in ("alpha", "palette") else "" for kind in image.colorinterp)


_PIXELS: tuple[tuple[str, Callable[[Header], object], str], ...] = (
    ("number of bands", lambda image: image.bands, "choose with --bands, such as 1,2,3"),
    ("pixel type", lambda image: image.dtype, "bring all to one, such as --dtype float32"),
    ("scale", lambda image: image.metadata.scales, "--unscale takes value x scale + offset"),
    ("offset", lambda image: image.metadata.offsets, "--unscale takes value x scale + offset"),
    ("use of bands", _kinds, "choose with --bands, or --expression"),
    (
        "colour map",
        lambda image: image.metadata.colormaps,
        "give all the same, or --expression b1 for the classes without colours",
    ),
)


def _check_units(first: Named, other: Named) -> None:
    pairs = zip(first.image.metadata.units, other.image.metadata.units, strict=True)
    for band, (one, two) in enumerate(pairs, start=1):
        if one and two and one != two:
            raise InputError(
                f"{other.name}: its band {band} is in {two}, and that of {first.name} in {one}: "
                "bring all to one unit"
            )


def computed_of(sources: Sequence[Named]) -> Computed | None:
    """What is made of each source's bands. Those that are taken as they are allow any."""
    asked = {source.image.computed: source for source in sources if source.image.computed}
    if len(asked) > 1:
        one, two = list(asked.values())[:2]
        raise InputError(
            f"{two.name}: other bands are made of it than of {one.name}: choose with --bands"
        )
    return next(iter(asked), None)


def shared_metadata(sources: Sequence[Named], notes: list[str]) -> SourceMetadata:
    """The first source's metadata less what another says otherwise; place and nodata are its own.

    Statistics are of other pixels, and left out.
    """
    every = [source.image.metadata for source in sources]
    first = every[0]
    units = zip(*(metadata.units for metadata in every), strict=True)
    shared = replace(
        first,
        tags=_shared([metadata.tags for metadata in every]),
        band_tags=tuple(
            _without_statistics(_shared(list(bands)))
            for bands in zip(*(metadata.band_tags for metadata in every), strict=True)
        ),
        descriptions=_same([metadata.descriptions for metadata in every], ""),
        units=tuple(next((unit for unit in said if unit), "") for said in units),
        colorinterp=_same([metadata.colorinterp for metadata in every], "undefined"),
    )
    _note_dropped(first, shared, notes)
    return shared


def _same(rows: Sequence[tuple[str, ...]], otherwise: str) -> tuple[str, ...]:
    return tuple(said[0] if len(set(said)) == 1 else otherwise for said in zip(*rows, strict=True))


def _shared(every: Sequence[Namespaces]) -> Namespaces:
    """The pairs that stand in all."""
    sets = [{(ns, *pair) for ns, pairs in one for pair in pairs} for one in every]
    common = set.intersection(*sets)
    kept = ((ns, tuple(pair for pair in pairs if (ns, *pair) in common)) for ns, pairs in every[0])
    return tuple((ns, pairs) for ns, pairs in kept if pairs)


def _without_statistics(namespaces: Namespaces) -> Namespaces:
    kept = (
        (ns, tuple(pair for pair in pairs if not pair[0].startswith(_STATISTICS)))
        for ns, pairs in namespaces
    )
    return tuple((ns, pairs) for ns, pairs in kept if pairs)


def _note_dropped(first: SourceMetadata, shared: SourceMetadata, notes: list[str]) -> None:
    there, left = _tag_names(first), _tag_names(shared)
    dropped = sorted(name for name in there - left if not name.startswith(_STATISTICS))
    if first.descriptions != shared.descriptions:
        dropped.append("band descriptions")
    if first.colorinterp != shared.colorinterp:
        dropped.append("colour interpretation")
    if dropped:
        more = f" and {len(dropped) - 4} more" if len(dropped) > 4 else ""
        notes.append(
            f"the sources differ in {', '.join(dropped[:4])}{more}: the mosaic does not say it"
        )


def _tag_names(metadata: SourceMetadata) -> set[str]:
    every = [metadata.tags, *metadata.band_tags]
    return {name for one in every for _, pairs in one for name, _ in pairs}


def _short(value: object) -> str:
    if isinstance(value, tuple) and len(set(map(repr, value))) == 1:
        value = value[0]
    text = str(value)
    return text if len(text) <= 40 else f"{text[:40]}…"

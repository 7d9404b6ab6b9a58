"""One way to name scenes, whichever it is: a list, a prefix, a STAC search."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date
from itertools import chain, islice
from typing import Final

from scenemosaic.discovery.cursor import Cursor
from scenemosaic.discovery.found import Found
from scenemosaic.discovery.prefix import below
from scenemosaic.errors import InputError, StoreError, without_userinfo
from scenemosaic.sources.locations import canonical_location, is_stac, printable, public_uri

_MOST_LISTED: Final = 1_000_000
_LISTED: Final = " (it was listed as a scene)"


class MissingPackage(InputError):
    """STAC needs what is not installed: that is no fault of a document."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Exactly one of ``scenes``, ``prefix`` and ``stac``; days are whole ones in UTC.

    A scene may be a STAC document, whose items are scenes; ``asset`` is theirs, too.
    """

    scenes: tuple[str, ...] = ()
    prefix: str | None = None
    stac: str | None = None
    collections: tuple[str, ...] = ()
    asset: str | None = None
    since: date | None = None
    until: date | None = None
    at_most: int = 1000


def find(selection: Selection) -> list[Found]:
    """What the selection holds now, each source once.

    What is wrong with a listed scene is said by that one. Raises InputError where it is more
    than ``at_most``, or the place cannot be read as what it is said to be; StoreError where it
    cannot be asked.
    """
    found = {one.name: one for one in islice(_all(selection), selection.at_most + 1)}
    if len(found) > selection.at_most:
        raise InputError(
            f"the selection holds more than {selection.at_most} scenes; narrow it, or allow more"
        )
    return list(found.values())


def find_new(selection: Selection, cursor: Cursor) -> tuple[list[Found], list[Found]]:
    """What a schedule has not seen yet, oldest first: ``at_most`` of it, and the rest.

    Raises InputError and StoreError as :func:`find` does, and InputError for a list of
    scenes, of which none is ever new.
    """
    if selection.scenes:
        raise InputError("listed scenes are never new: give a prefix or a STAC search")
    every = replace(selection, at_most=_MOST_LISTED)
    fresh = cursor.fresh({one.name: one for one in _all(every)}.values())
    return fresh[: selection.at_most], fresh[selection.at_most :]


def _all(selection: Selection) -> Iterator[Found]:
    if selection.stac is not None:
        return _searched(selection)
    if selection.prefix is not None:
        return (one for one in below(selection.prefix) if _is_within(one, selection))
    return chain.from_iterable(_listed(scene, selection) for scene in selection.scenes)


def _listed(scene: str, selection: Selection) -> Iterator[Found]:
    """One of many: what is wrong with it stops no other."""
    name = scene.partition("?")[0]  # what follows may be a signature
    try:
        location = canonical_location(scene)
        name = public_uri(location)
        if not is_stac(location):
            yield Found(location, "", "")
            return
        for one in _searched(replace(selection, stac=location)):
            refused = one.refused and f"{one.refused}{_LISTED}"
            yield replace(one, refused=refused)
    except MissingPackage:
        raise
    except (InputError, StoreError) as error:
        yield Found(_shown(name), "", "", refused=f"{error}{_LISTED}", refused_as=type(error))


def _shown(scene: str) -> str:
    """What is no source, fit to be told: a password may be in it, or what no record holds."""
    return without_userinfo(printable(scene))


def _searched(selection: Selection) -> Iterator[Found]:
    try:
        from scenemosaic.discovery import stac
    except ModuleNotFoundError as error:
        raise MissingPackage(
            f"{error.name} is not installed, which STAC needs: pip install 'scenemosaic[stac]'"
        ) from error
    return stac.search(
        stac.Search(
            str(selection.stac),
            selection.collections,
            selection.since,
            selection.until,
            selection.asset,
            selection.at_most + 1,
        )
    )


def _is_within(found: Found, selection: Selection) -> bool:
    if not found.seen_at:
        return True
    day = date.fromisoformat(found.seen_at[:10])
    if selection.since is not None and day < selection.since:
        return False
    return selection.until is None or day <= selection.until

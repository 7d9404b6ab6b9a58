"""One source, pinned and with its header read: what planning goes by."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from scenemosaic.discovery.given import Given
from scenemosaic.errors import InputError, SourceReadError
from scenemosaic.planning.computed import computed
from scenemosaic.planning.header import Header, read_header
from scenemosaic.planning.item_check import check_facts
from scenemosaic.planning.kept import side_files
from scenemosaic.plans.pin import Pin
from scenemosaic.plans.plan import PlanOptions
from scenemosaic.sources.locations import public_uri
from scenemosaic.sources.pins import Pinned, pin_source, verify_pin
from scenemosaic.sources.scene_time import scene_time

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Looked:
    """A source with the image that is made of its bands; ``taken`` is (time, where it is from)."""

    location: str
    pin: Pin
    image: Header
    taken: tuple[str | None, str]
    notes: tuple[str, ...]

    @property
    def name(self) -> str:
        """What it is called in messages."""
        return public_uri(self.location)


def look(given: Given, options: PlanOptions) -> Looked:
    """Pin the source and read its header. InputError, under its name, where it is refused."""
    name, pinned = public_uri(given.location), pin_source(given.location)
    return named(name, lambda: _looked(given, pinned, options))


def check_unchanged(looked: Looked) -> None:
    """InputError where the source is not what was pinned any more."""
    try:
        verify_pin(looked.pin, looked.location)
    except SourceReadError as error:
        raise InputError(str(error)) from None


def named(name: str, check: Callable[[], _T]) -> _T:
    """``check`` with InputErrors that begin with the source's name."""
    try:
        return check()
    except (InputError, SourceReadError) as error:
        text = str(error)
        raise InputError(text if text.startswith(name) else f"{name}: {text}") from None


def _looked(given: Given, pinned: Pinned, options: PlanOptions) -> Looked:
    location, pin, facts = given.location, pinned.pin, given.facts
    header, notes = read_header(location, pin.size_bytes)
    image = computed(header, options, notes)
    notes += side_files(location)
    if facts is not None:
        notes += check_facts(facts, pin, location)
    taken = scene_time(options.datetime, header.metadata, pinned.last_modified, facts)
    return Looked(location, pin, image, taken, tuple(notes))

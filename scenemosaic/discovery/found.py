"""What was found: one scene's source, and what tells it from the one that stood there before."""

from dataclasses import dataclass
from typing import Final

from scenemosaic.errors import InputError, SceneMosaicError
from scenemosaic.plans.item_facts import ItemFacts
from scenemosaic.sources.locations import public_uri

MOST_SOURCE_CHARS: Final = 2000
ENDINGS: Final = (".tif", ".tiff", ".jp2")


@dataclass(frozen=True, slots=True)
class Found:
    """One scene. ``source`` is a canonical location, fit to be opened.

    ``version`` is an ETag, or size and time of a file, or an item's ``updated``. ``seen_at`` is
    when it came to where it was found, RFC 3339 in UTC, empty where nothing says so; ``facts``
    is what a STAC item says of it. ``refused`` says why what was found is no scene: then
    ``source`` is a name for it, no location, and ``refused_as`` the kind of error.
    """

    source: str
    version: str
    seen_at: str
    facts: ItemFacts | None = None
    refused: str | None = None
    refused_as: type[SceneMosaicError] = InputError

    @property
    def name(self) -> str:
        """What it is known by, without a signature, which is another one each time."""
        return public_uri(self.source)

    @property
    def taken(self) -> str | None:
        """When the scene was taken, where its item says so: RFC 3339 in UTC."""
        return None if self.facts is None else self.facts.taken


def is_scene(path: str) -> bool:
    """Whether a path or key is named as a scene is, and neither it nor a folder is hidden."""
    parts = path.split("/")
    return parts[-1].lower().endswith(ENDINGS) and not any(one.startswith(".") for one in parts)

"""When a scene was taken: as asked for, else by its STAC item, its tags, its last modification."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from scenemosaic.errors import InputError
from scenemosaic.image_metadata import SourceMetadata
from scenemosaic.plans.item_facts import ItemFacts
from scenemosaic.plans.plan import UNKNOWN_TIME, Plan, utc_datetime

# (namespace, tag), the surest first: TIFFTAG_DATETIME is often when a processor wrote the file.
_TAGS: Final = (
    ("IMAGERY", "ACQUISITIONDATETIME"),
    ("", "ACQUISITIONDATETIME"),
    ("", "ACQUISITION_DATETIME"),
    ("", "ACQUISITION_DATE"),
    ("", "TIFFTAG_DATETIME"),
)
_TIFF_TIME: Final = re.compile(r"(\d{4}):(\d\d):(\d\d) (\d\d:\d\d:\d\d)")


def scene_time(
    asked: str | None,
    metadata: SourceMetadata,
    last_modified: str | None,
    item: ItemFacts | None = None,
) -> tuple[str | None, str]:
    """(RFC 3339 time in UTC, where it comes from); (None, "unknown") where nothing says it.

    A local file's modification time is not asked: a copy is the same scene.
    """
    if asked is not None:
        return utc_datetime(asked), "option"
    if item is not None and item.taken is not None:
        return utc_datetime(item.taken), item.time_source
    namespaces: Mapping[str, Mapping[str, str]] = {ns: dict(pairs) for ns, pairs in metadata.tags}
    for namespace, tag in _TAGS:
        found = _time(namespaces.get(namespace, {}).get(tag))
        if found is not None:
            return found, f"tag:{tag}"
    if last_modified is not None:
        return utc_datetime(last_modified), "last-modified"
    return None, UNKNOWN_TIME


def notes_of_time(plan: Plan) -> Sequence[str]:
    """What people should hear where the item of a plan's mosaic will say no time; else nothing."""
    if plan.datetime is not None:
        return ()
    return (
        "nothing says when the scene was taken: its STAC item covers all years (0001 to 9999), so "
        "that every search by time finds it: give --datetime (of a flow: taken)",
    )


def _time(text: str | None) -> str | None:
    if text is None:
        return None
    match = _TIFF_TIME.fullmatch(text.strip())
    try:
        return utc_datetime("{}-{}-{}T{}".format(*match.groups()) if match else text.strip())
    except InputError:  # a tag that says something else is no time
        return None

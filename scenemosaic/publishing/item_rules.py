"""What an item says, against what decides it: the plan, and the mosaic as it is stored. Pure.

Whoever reads an item goes by this, and by no further request.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from scenemosaic.canonical import decode
from scenemosaic.machine.software import software_versions
from scenemosaic.plans.plan import Plan
from scenemosaic.publishing.mosaic_facts import FileFacts, MosaicFacts
from scenemosaic.publishing.stac import item_json

_SOFTWARE: Final = "processing:software"
# What only a look into the mosaic, at its preview or at its rows could tell.
_OF_FILES: Final = {
    "properties": ("scenemosaic:rows_sha256", "scenemosaic:revision", "scenemosaic:waived"),
    "assets.data": (
        *("bands", "raster:sampling", "scenemosaic:digest"),
        *("file:size", "file:checksum"),
    ),
    "assets.preview": ("file:size", "file:checksum"),
}
# The same whatever version wrote it. Another PROJ, say, has another last digit of a place.
_LASTING: Final = {
    *("links", "collection", "assets.data.href", "assets.preview.href"),
    *("properties.datetime", "properties.start_datetime", "properties.end_datetime"),
    *("properties.title", "properties.proj:shape", "properties.proj:transform"),
    *("properties.scenemosaic:datetime_source", "properties.scenemosaic:sources"),
}
_MISSING: Final = object()


def unlike_plan(item: Mapping[str, Any], plan: Plan, revision: int) -> list[str]:
    """The names of what the item says otherwise than its plan makes it.

    Of an item that other software wrote, only what no version changes, and that it lies
    somewhere where the plan does. TypeError, AttributeError where it is no item at all.
    """
    facts = MosaicFacts(FileFacts(0, None), "", revision=revision)
    expected: Any = decode(item_json(plan, facts), "item")
    wanted = dict(_flat(expected))
    said = dict(_flat(item))
    names = [name for name in {**wanted, **said} if not _is_of_files(name)]
    if dict(item["properties"]).get(_SOFTWARE) != dict(software_versions()):
        names = [name for name in names if name in _LASTING]
        if (said.get("geometry") is None) != (wanted["geometry"] is None):
            names.append("geometry")
    return [name for name in names if said.get(name, _MISSING) != wanted.get(name, _MISSING)]


def _flat(item: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    """Properties and assets by name, each by its own; all else as it is."""
    for name, value in item.items():
        if name == "properties":
            yield from ((f"{name}.{key}", one) for key, one in value.items())
        elif name == "assets":
            for asset, fields in value.items():
                yield from ((f"{name}.{asset}.{key}", one) for key, one in fields.items())
        else:
            yield name, value


def _is_of_files(name: str) -> bool:
    group, _, field = name.rpartition(".")
    return field in _OF_FILES.get(group, ())

"""All of a place put together as evidence."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence

from rasterio.errors import RasterioError

from scenemosaic import keys
from tests.soak.damage import Place, mosaic_of
from tests.soak.evidence import Stands, Version, Wanted
from tests.soak.scenes import pixels


def look(place: Place, wanted: Sequence[Wanted]) -> Stands:
    """What stands now. Nothing may be at work meanwhile."""
    history = place.history()
    standing = {key for key, versions in history.items() if not versions[-1].is_marker}
    published = [job.job_id for job in wanted if keys.item_key(job.job_id) in standing]
    items = {job_id: mosaic_of(place, job_id) for job_id in published}
    return Stands(
        history,
        place.rows(),
        place.uploads(),
        items,
        {job_id: _pixels(place, key) for job_id, key in items.items() if key in standing},
        events(place, history, "replacing"),
        events(place, history, "refused"),
    )


def events(
    place: Place, history: Mapping[str, Sequence[Version]], wanted: str
) -> Mapping[str, int]:
    """How often the audit log names each key with such an event."""
    found: Counter[str] = Counter()
    for log in (key for key in history if key.startswith("audit/")):
        records = (json.loads(line) for line in place.read(log).splitlines())
        found.update(one["key"] for one in records if one["event"] == wanted)
    return found


def _pixels(place: Place, key: str) -> str:
    try:
        return pixels(place.read(key))
    except RasterioError as error:
        return f"unreadable: {error}"

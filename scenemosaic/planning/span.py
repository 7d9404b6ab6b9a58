"""When several sources were taken."""

from collections.abc import Sequence
from datetime import datetime

from scenemosaic.plans.plan import UNKNOWN_TIME

Taken = tuple[str | None, str]


def span_of(times: Sequence[Taken], notes: list[str]) -> tuple[str | None, str | None, str]:
    """(the earliest, the latest, where the latest comes from); the earliest None where all are one.

    The first is taken of several that name the same moment.
    """
    known = [(when, source) for when, source in times if when is not None]
    if not known:
        return None, None, UNKNOWN_TIME
    if len(known) < len(times):
        notes.append(
            f"{len(times) - len(known)} of {len(times)} sources do not say when they are of"
        )
    known = sorted(dict.fromkeys(known), key=lambda one: (datetime.fromisoformat(one[0]), one[1]))
    (start, _), (end, source) = known[0], known[-1]
    return (start if start != end else None), end, source

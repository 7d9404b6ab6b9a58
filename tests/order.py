"""In which order tests run, so that no worker waits for another at the end."""

from collections.abc import Sequence
from itertools import islice

import pytest

# Areas whose slow tests take longest: each is one worker's, with the servers that they share.
LONGEST = ("recovery", "flows", "engines", "cli", "docs", "ui", "ledger", "queues")


def ordered(items: Sequence[pytest.Item], workers: int) -> list[pytest.Item]:
    """What takes long begins first, at every worker.

    With ``--dist worksteal`` each worker begins with an equal run of the list, and takes from
    the end of another's once it has done its own.
    """
    shares = _dealt([one for one in items if _is_slow(one)], workers)
    others = iter([one for one in items if not _is_slow(one)])
    found: list[pytest.Item] = []
    for number, share in enumerate(shares):
        size = (len(items) - len(found)) // (workers - number)
        found += share
        found += islice(others, max(0, size - len(share)))
    return found


def _dealt(items: Sequence[pytest.Item], workers: int) -> list[list[pytest.Item]]:
    """The areas, longest first, dealt there and back again."""
    areas = sorted({_area(one) for one in items} - set(LONGEST))
    shares: list[list[pytest.Item]] = [[] for _ in range(workers)]
    for number, area in enumerate([*LONGEST, *areas]):
        place = number % (2 * workers)
        share = shares[min(place, 2 * workers - 1 - place)]
        share += [one for one in items if _area(one) == area]
    return shares


def _is_slow(item: pytest.Item) -> bool:
    return item.get_closest_marker("slow") is not None


def _area(item: pytest.Item) -> str:
    """The folder below tests/ in which it stands."""
    return item.nodeid.split("/")[1] if item.nodeid.count("/") > 1 else ""

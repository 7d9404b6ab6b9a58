"""Which of a root's jobs are listed, in which order, and what they are called."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from threading import Lock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenemosaic import keys
from scenemosaic.errors import IncompleteError
from scenemosaic.places import StorePlace
from scenemosaic.plans import listing
from scenemosaic.plans.listing import described, list_jobs, newest
from scenemosaic.plans.pin import Pin
from scenemosaic.plans.plan import MAX_PLAN_BYTES
from scenemosaic.stores.port import ObjectInfo
from tests.faults.model.job import plan

REMOTE = Pin("s3://bucket/scenes/S2A_31UFU.tif", None, "etag", None, 5)
LARGE = 2 << 20  # more than a plan may have that others are read beside


def plan_info(job_id: str, second: int = 0, size_bytes: int = 1) -> ObjectInfo:
    modified = f"2026-01-01T00:00:{second:02}Z"
    return ObjectInfo(keys.plan_key(job_id), size_bytes, "etag", last_modified=modified)


@given(st.lists(st.integers(0, 3), max_size=9), st.integers(1, 12))
def test_the_newest_are_found_in_any_listing(seconds: list[int], limit: int) -> None:
    infos = [plan_info(f"{number:032x}", second) for number, second in enumerate(seconds)]
    others = [ObjectInfo(f"jobs/{number:032x}/other", 1, "etag") for number in range(3)]
    total, found = newest(iter([*infos, *others]), limit)
    assert total == len(infos)
    assert found == sorted(infos, key=lambda one: one.last_modified, reverse=True)[:limit]


@pytest.mark.parametrize(
    ("title", "time_source", "source", "name"),
    [
        ("Fields", "item:S2A", REMOTE, "Fields"),
        (None, "item:S2A", REMOTE, "S2A"),
        (None, "item-start:S2A:1", REMOTE, "S2A:1"),
        (None, "tag:TIFFTAG_DATETIME", REMOTE, "S2A_31UFU.tif"),
        (None, "option", plan().sources[0], "a local file of 1 bytes"),
    ],
)
def test_what_a_job_is_called(title: str | None, time_source: str, source: Pin, name: str) -> None:
    taken = "2024-05-01T00:00:00Z"
    made = replace(
        plan(), sources=(source,), title=title, datetime=taken, datetime_source=time_source
    )
    said = described(made)
    assert (said.name, said.title, said.source) == (name, title, source.uri)
    assert (said.windows, said.datetime, said.sources) == (4, taken, 1)


class Busy:
    """A store of many jobs, which counts what is asked of it, and how much at once."""

    def __init__(self, sizes: list[int]) -> None:
        self.plans = {f"{number:032x}": size for number, size in enumerate(sizes)}
        self.asked: Counter[str] = Counter()
        self.most, self._now, self._lock = Counter[str](), Counter[str](), Lock()

    def list(self, prefix: str) -> Iterator[ObjectInfo]:
        self.asked[prefix] += 1
        return (plan_info(job_id, 0, size) for job_id, size in self.plans.items())

    def head(self, key: str) -> ObjectInfo | None:
        self.asked[key] += 1
        return None

    def get(self, key: str, etag: str) -> bytes:
        job_id = keys.job_of_plan(key) or ""
        kind = "large" if self.plans[job_id] >= LARGE else "small"
        with self._lock:
            self.asked[key] += 1
            self._now += Counter(("any", kind))
            self.most |= self._now
        with self._lock:
            self._now -= Counter(("any", kind))
        if job_id.endswith("0"):
            raise IncompleteError(f"{key} was replaced")
        return b"{}"

    def close(self) -> None:
        self.asked["close"] += 1


def test_what_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    store = Busy([1, LARGE, MAX_PLAN_BYTES + 1] * 20)
    monkeypatch.setattr(listing, "open_store", lambda root, access: store)
    found = list_jobs(StorePlace("s3://bucket/root"), 50)
    assert (found.total, len(found.jobs)) == (60, 50)
    shown = [one.job_id for one in found.jobs]
    readable = [one for one in shown if store.plans[one] <= MAX_PLAN_BYTES]
    assert store.asked == Counter(
        [
            *("jobs/", "close"),
            *map(keys.item_key, shown),
            *map(keys.plan_key, readable),
        ]
    )
    assert store.most["any"] <= 8
    assert store.most["large"] == 1
    for one in found.jobs:
        assert one.plan is None
        assert one.problem is not None
        too_large = store.plans[one.job_id] > MAX_PLAN_BYTES
        reason = "too large" if too_large else "replaced" if one.job_id[-1] == "0" else "damaged"
        assert reason in one.problem

"""The order of the tests: nothing is left out, and what takes long begins at once everywhere."""

from types import SimpleNamespace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.order import LONGEST, ordered

AREAS = (*LONGEST, "plan", "stores")


def item(area: str, slow: bool) -> Any:
    marker = object() if slow else None
    return SimpleNamespace(
        nodeid=f"tests/{area}/test_x.py::test_y", get_closest_marker=lambda name: marker
    )


@given(st.lists(st.builds(item, st.sampled_from(AREAS), st.booleans())), st.integers(1, 5))
def test_each_test_runs_once(items: list[Any], workers: int) -> None:
    found = ordered(items, workers)
    assert sorted(map(id, found)) == sorted(map(id, items))


def test_every_worker_begins_with_slow_tests_of_areas_of_its_own() -> None:
    items = [item(area, slow) for slow in (False, True) for area in AREAS for _ in range(9)]
    found, size = ordered(items, 4), len(items) // 4
    firsts = [found[size * worker : size * (worker + 1)] for worker in range(4)]
    areas = [
        [one.nodeid.split("/")[1] for one in run if one.get_closest_marker("")] for run in firsts
    ]
    assert [run[0] for run in areas] == list(LONGEST[:4])
    assert sum(len(set(run)) for run in areas) == len(AREAS)

"""The first digits of a job's ID stand for all of it, where they are no other job's."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from scenemosaic import keys
from scenemosaic.errors import InputError
from scenemosaic.places import StorePlace
from scenemosaic.plans import whole_id
from scenemosaic.plans.whole_id import whole_job_id
from scenemosaic.stores.port import ObjectInfo

ONE = "abcdef" + "0" * 26
OTHER = "abcdee" + "1" * 26


@pytest.fixture
def place(tmp_path: Path) -> StorePlace:
    for job_id in (ONE, OTHER):
        keep(tmp_path, keys.plan_key(job_id))
    return StorePlace(tmp_path.as_uri())


def keep(root: Path, key: str) -> None:
    (root / key).parent.mkdir(parents=True, exist_ok=True)
    (root / key).touch()


@pytest.mark.parametrize("digits", [6, 7, 31, 32])
def test_a_beginning_is_made_whole(place: StorePlace, digits: int) -> None:
    assert whole_job_id(ONE[:digits], place) == ONE
    assert whole_job_id(OTHER[:digits], place) == OTHER
    assert whole_job_id(ONE[:digits].upper(), place) == ONE


def test_only_plans_are_jobs(place: StorePlace, tmp_path: Path) -> None:
    short = ONE[:-1]
    for key in (f"jobs/{ONE}/copy.json", f"jobs/{short}/plan.json", f"jobs/{ONE}1/plan.json"):
        keep(tmp_path, key)
    keep(tmp_path, keys.tile_key(OTHER[:-1] + "2", "0000_0000"))
    assert whole_job_id(ONE[:6], place) == ONE
    assert whole_job_id(OTHER[:6], place) == OTHER


@pytest.mark.parametrize(
    "given",
    ["", "abcde", "ABCDE", "GHIJKL", "ghijkl", "abcdef\n", "abcdef/", "jobs/abcdef", ONE + "0"],
)
def test_what_is_none(place: StorePlace, given: str) -> None:
    with pytest.raises(InputError) as caught:
        whole_job_id(given, place)
    rule = "a job ID is 32 hex digits (0-9, a-f), or its first 6 and more of them, not "
    assert str(caught.value) == f"{rule}{given!r}"


def test_of_no_job(place: StorePlace, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        whole_job_id("0123456", place)
    assert str(caught.value) == (
        f"{place.root} holds no job that begins with 0123456: no plan is at jobs/0123456…; where "
        "a job's is gone, give all 32 digits"
    )
    with pytest.raises(InputError, match="there is no folder: is the root spelled right"):
        whole_job_id("0123456", StorePlace((tmp_path / "absent").as_uri()))
    assert not (tmp_path / "absent").exists()


@pytest.mark.parametrize("jobs", [2, 5, 6])
def test_of_several_jobs(tmp_path: Path, jobs: int) -> None:
    same = [f"abcdef{number:026}" for number in range(jobs)]
    for job_id in same:
        keep(tmp_path, keys.plan_key(job_id))
    with pytest.raises(InputError) as caught:
        whole_job_id("abcdef", StorePlace(tmp_path.as_uri()))
    more = ", and there are more" if jobs > 5 else ""
    assert str(caught.value) == (
        f"abcdef begins several jobs' IDs under {tmp_path.as_uri()}: {', '.join(same[:5])}{more}; "
        "give more digits (scenemosaic jobs lists them)"
    )


class Counting:
    """A store of many jobs, which counts what is asked of it."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.taken = 0

    def list(self, prefix: str) -> Iterator[ObjectInfo]:
        self.asked.append(prefix)
        for number in range(1000):
            self.taken += 1
            yield ObjectInfo(keys.plan_key(f"abcdef{number:026}"), 1, "etag")

    def close(self) -> None:
        self.asked.append("close")


def test_what_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    store, place = Counting(), StorePlace("s3://bucket/root")
    monkeypatch.setattr(whole_id, "open_store", lambda root, access: store)
    assert whole_job_id(ONE, place) == ONE
    assert store.asked == [], "a whole ID is not looked up"
    with pytest.raises(InputError, match="several jobs"):
        whole_job_id("abcdef", place)
    assert (store.asked, store.taken) == (["jobs/abcdef", "close"], 6)

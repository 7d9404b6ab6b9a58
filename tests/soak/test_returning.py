"""Who died comes back once, after whom it needs, and is tried again where it does not come up."""

from collections.abc import Iterator

import pytest

from tests.servers import ServerFailed
from tests.soak.returning import STARTS, Returning


@pytest.fixture
def returning() -> Iterator[Returning]:
    made = Returning()
    yield made
    made.stop()


def test_a_worker_comes_back_after_its_server(returning: Returning) -> None:
    seen: list[str] = []

    def worker() -> None:
        returning.wait_for("server")
        seen.append("worker")

    returning.away("worker", 0, worker)
    returning.away("server", 0.05, lambda: seen.append("server"))
    assert "worker" in returning
    returning.all_back()
    assert seen == ["server", "worker"]
    assert "worker" not in returning


@pytest.mark.parametrize("failures", [STARTS - 1, STARTS])
def test_what_does_not_come_up_is_started_again(returning: Returning, failures: int) -> None:
    left = iter(range(failures))

    def start() -> None:
        if next(left, None) is not None:
            raise ServerFailed("not yet")

    returning.away("server", 0, start)
    if failures < STARTS:
        returning.all_back()
        return
    with pytest.raises(ServerFailed):
        returning.all_back()


def test_once_stopped_nothing_starts(returning: Returning) -> None:
    returning.away("server", 0, lambda: pytest.fail("it was started"))
    returning.stop()
    returning.wait_for("server")

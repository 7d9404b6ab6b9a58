"""Many assemblers of one job, as real processes: killed, paused, all at once."""

import json
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.faults.proxy import no_faults
from tests.faults.wire import Request
from tests.forked import Fork
from tests.jobs.assembling import (
    Committed,
    is_abort,
    is_complete,
    is_create,
    is_part,
    upload_of,
)
from tests.jobs.places import finish

MANY = 8
LONG_S = 120.0

Start = Callable[..., Fork]


@pytest.fixture
def start(committed: Committed) -> Iterator[Start]:
    """Starts assemblers, and ends those that a failed test left behind."""
    started: list[Fork] = []

    def begin(run_id: str, lease_s: float = 1.0) -> Fork:
        started.append(committed.start(run_id, lease_s))
        return started[-1]

    yield begin
    for process in started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate(timeout=30)


def outcome(process: Fork) -> str:
    code, out, err = finish(process)
    assert code == 0, err
    return str(json.loads(out)["outcome"])


def parts_wait(delay_s: float) -> Callable[[Request], float | None]:
    return lambda seen: delay_s if is_part(seen) else None


def killed(process: Fork) -> None:
    assert process.poll() is None
    os.killpg(process.pid, signal.SIGKILL)
    assert finish(process)[0] == -signal.SIGKILL


def test_of_eight_one_uploads_and_the_others_send_no_byte(
    committed: Committed, start: Start, tmp_path: Path
) -> None:
    committed.proxy.rule = parts_wait(3.0)
    runs = [start(f"run-{number}", lease_s=60) for number in range(MANY)]
    outcomes = [outcome(run) for run in runs]
    assert sorted(outcomes) == ["already-present"] * (MANY - 1) + ["written"]
    assert len(committed.seen(is_create)) == 1
    assert len({upload_of(seen) for seen in committed.seen(is_part)}) == 1
    assert len(committed.seen(is_complete)) == 1
    sent = sum(seen.body_bytes for seen in committed.seen(is_part))
    assert 5 << 20 <= sent < 10 << 20, "what is not copied inside the store, once"
    puts = [seen for seen in committed.seen(lambda seen: seen.method == "PUT") if not is_part(seen)]
    assert sorted(seen.path.rpartition("/")[2] for seen in puts) == ["item.json", "preview.png"]
    committed.check(tmp_path)


def test_a_holder_killed_in_its_upload_is_followed(
    committed: Committed, start: Start, tmp_path: Path
) -> None:
    committed.proxy.rule = parts_wait(LONG_S)
    holder = start("killed")
    committed.wait_for(is_part)
    upload = upload_of(committed.seen(is_part)[0])
    assert json.loads(committed.claim()["software"]["S"])["upload_id"] == upload
    killed(holder)
    strange = "mosaics/strange/mosaic.tif"
    committed.begin_by_hand(strange)
    committed.proxy.rule = no_faults
    assert outcome(start("successor")) == "written"
    ended, begun = committed.seen(is_abort), committed.seen(is_create)
    assert [upload_of(seen) for seen in ended] == [upload]
    assert len(begun) == 2
    order = committed.proxy.requests
    assert order.index(ended[0]) < order.index(begun[1]), "ended first, then begun anew"
    committed.check(tmp_path, still_open=[strange])
    details = json.loads(committed.claim()["software"]["S"])
    assert details == {"claim": "done", "lease_s": "1.0"}


def test_a_waiting_loser_follows_a_holder_that_is_killed(
    committed: Committed, start: Start, tmp_path: Path
) -> None:
    committed.proxy.rule = parts_wait(LONG_S)
    holder = start("killed", lease_s=3)
    committed.wait_for(is_part)
    waiting = [start(f"waiting-{number}", lease_s=3) for number in range(2)]
    committed.wait_for(lambda seen: seen.method == "HEAD" and "item.json" in seen.path)
    killed(holder)
    committed.proxy.rule = no_faults
    assert sorted(outcome(run) for run in waiting) == ["already-present", "written"]
    assert len(committed.seen(is_create)) == 2
    committed.check(tmp_path)


def is_put(name: str) -> Callable[[Request], bool]:
    return lambda seen: seen.method == "PUT" and seen.path.endswith(name)


def row_after(before: Callable[[Request], bool] | None = None) -> Callable[[Request], bool]:
    """A row's write once ``before`` was seen. It may be the heartbeat's: that is a moment, too."""
    begun = before is None

    def chosen(seen: Request) -> bool:
        nonlocal begun
        begun = begun or (before is not None and before(seen))
        return begun and seen.operation == "PutItem"

    return chosen


EFFECTS: dict[str, Callable[[], Callable[[Request], bool]]] = {
    "claim": row_after,
    "create": lambda: is_create,
    "record": lambda: row_after(is_create),
    "part": lambda: is_part,
    "complete": lambda: is_complete,
    "row": lambda: row_after(is_complete),
    "preview": lambda: is_put("preview.png"),
    "item": lambda: is_put("item.json"),
    "done": lambda: row_after(is_put("item.json")),
}


@pytest.mark.parametrize("effect", EFFECTS)
def test_killed_between_two_effects_the_next_run_converges(
    committed: Committed, start: Start, tmp_path: Path, effect: str
) -> None:
    """Killed while the effect is on its way: the next run ends what no claim knows as well."""
    chosen = EFFECTS[effect]()
    committed.proxy.rule = lambda seen: LONG_S if chosen(seen) else None
    holder = start("killed", lease_s=60 if effect == "done" else 1)
    committed.wait_for(lambda seen: seen.fault == LONG_S)
    killed(holder)
    committed.proxy.rule = no_faults
    mosaic_stands = effect in ("row", "preview", "item", "done")
    expected = "already-present" if mosaic_stands else "written"
    assert outcome(start("successor")) == expected
    begun = {"claim": 1, "create": 2, "record": 2, "part": 2, "complete": 2}.get(effect, 1)
    assert len(committed.seen(is_create)) == begun
    committed.check(tmp_path)


@pytest.mark.parametrize("paused_at", ["parts", "completion"])
def test_a_holder_paused_past_its_lease_comes_back(
    committed: Committed, start: Start, tmp_path: Path, paused_at: str
) -> None:
    def lists_parts(seen: Request) -> bool:
        return seen.method == "GET" and "uploadId" in seen.query

    moment = is_part if paused_at == "parts" else lists_parts
    committed.proxy.rule = lambda seen: 1.0 if moment(seen) else None
    holder = start("paused")
    committed.wait_for(moment)
    os.killpg(holder.pid, signal.SIGSTOP)
    committed.proxy.rule = no_faults
    upload = upload_of(committed.seen(moment)[0])
    assert outcome(start("successor")) == "written"
    assert upload in {upload_of(seen) for seen in committed.seen(is_abort)}
    os.killpg(holder.pid, signal.SIGCONT)
    assert outcome(holder) == "already-present"
    committed.check(tmp_path)


def test_after_the_end_an_assembly_changes_nothing(
    committed: Committed, start: Start, tmp_path: Path
) -> None:
    assert outcome(start("first")) == "written"
    committed.proxy.clear()
    assert outcome(start("second")) == "already-present"
    assert committed.proxy.mutations == []
    committed.check(tmp_path)

"""Of many one works, the rest wait; a silent holder is followed, a living one never."""

from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Event

import pytest

from scenemosaic.claiming.claims import Claim, Claims, State
from scenemosaic.claiming.gate import Watch, once
from scenemosaic.claiming.held import Heartbeat, Held
from scenemosaic.errors import ClaimLost, LeaseHeld, PermanentStoreError, TransientStoreError
from scenemosaic.manifests.port import Manifest
from scenemosaic.waiting.retry import Effects
from tests.claims.conftest import LEASE_S, NAME, claims_in
from tests.faults.effects import FakeTime

TICK_S = 0.001


@dataclass
class Place:
    """Where a result may stand. ``tries`` are the runs that worked."""

    result: str | None = None
    tries: list[str] = field(default_factory=list)
    inherited: list[str | None] = field(default_factory=list)

    def look(self) -> str | None:
        return self.result

    def work(self, run: str) -> Callable[[Held], str]:
        def make(held: Held) -> str:
            self.tries.append(run)
            self.inherited.append(held.inherited)
            self.result = run
            return run

        return make


@dataclass
class Watching:
    """A time in which something happens at each sleep."""

    happens: Callable[[float], None]
    now_s: float = 0.0

    def effects(self) -> Effects:
        return Effects(lambda: self.now_s, self._sleep, lambda: 1.0)

    def _sleep(self, pause_s: float) -> None:
        assert pause_s > 0
        self.now_s += pause_s
        self.happens(self.now_s)


def take(claims: Claims, run: str) -> Held:
    claim, ours = claims.take(NAME, run)
    assert ours
    return Held(claims, claim, fresh=True)


def state(claims: Claims) -> State:
    claim = claims.look(NAME)
    assert claim is not None
    return claim.state


def test_who_comes_alone_works_and_says_that_it_is_done(rows: Manifest) -> None:
    claims, place = claims_in(rows, FakeTime()), Place()
    assert once(claims, NAME, "run-1", place.look, place.work("run-1")) == "run-1"
    assert state(claims) is State.DONE


def test_where_the_result_stands_no_claim_is_taken(rows: Manifest) -> None:
    claims, place = claims_in(rows, FakeTime()), Place("there")
    assert once(claims, NAME, "run-1", place.look, place.work("run-1")) == "there"
    assert claims.look(NAME) is None


def test_a_loser_waits_and_finds_the_result(rows: Manifest) -> None:
    place, first = Place(), take(claims_in(rows, FakeTime()), "run-1")

    def finish(now_s: float) -> None:
        if now_s > 5:
            place.result = "run-1"
        else:
            first.renew()

    claims = claims_in(rows, Watching(finish))
    assert once(claims, NAME, "run-2", place.look, place.work("run-2")) == "run-1"
    assert place.tries == []


def test_the_lease_one_tick_each_side(rows: Manifest) -> None:
    claim, _ = claims_in(rows, FakeTime()).take(NAME, "run-1")
    watch = Watch()
    watch.see(claim, 100.0)
    watch.see(claim, 120.0)
    assert watch.left_s(claim, 100.0 + LEASE_S - TICK_S) > 0
    assert watch.left_s(claim, 100.0 + LEASE_S) <= 0


def test_each_renewal_starts_the_lease_anew(rows: Manifest) -> None:
    held, watch = take(claims_in(rows, FakeTime()), "run-1"), Watch()
    for now_s in (0.0, LEASE_S - TICK_S, 2 * LEASE_S - 2 * TICK_S):
        watch.see(held.claim, now_s)
        assert watch.left_s(held.claim, now_s) == LEASE_S
        held.renew()


@pytest.mark.parametrize("last_beat_s", [0.0, 7.0, 40.0])
def test_a_silent_holder_is_followed_when_its_lease_has_run_out(
    rows: Manifest, last_beat_s: float
) -> None:
    place, first = Place(), take(claims_in(rows, FakeTime()), "run-1")
    first.record("upload-1")

    def beat(now_s: float) -> None:
        if now_s <= last_beat_s:
            first.renew()

    time = Watching(beat)
    claims = claims_in(rows, time)
    assert once(claims, NAME, "run-2", place.look, place.work("run-2")) == "run-2"
    assert place.inherited == ["upload-1"]
    assert last_beat_s + LEASE_S - 2 <= time.now_s <= last_beat_s + LEASE_S + 2
    assert first.renew() is False


def test_a_living_holder_is_never_followed_and_patience_ends(rows: Manifest) -> None:
    place, first = Place(), take(claims_in(rows, FakeTime()), "run-1")
    time = Watching(lambda now_s: None if first.renew() else pytest.fail("taken over"))
    with pytest.raises(LeaseHeld, match=r"run-1/1 has been making .*mosaic\.tif"):
        once(claims_in(rows, time), NAME, "run-2", place.look, place.work("run-2"))
    assert 600 <= time.now_s <= 602
    assert place.tries == []


def test_after_a_failure_the_next_need_not_wait(rows: Manifest) -> None:
    time, place = FakeTime(), Place()
    claims = claims_in(rows, time)

    def fail(held: Held) -> str:
        held.record("upload-1")
        raise PermanentStoreError("no")

    with pytest.raises(PermanentStoreError):
        once(claims, NAME, "run-1", place.look, fail)
    assert state(claims) is State.FREE
    assert once(claims, NAME, "run-2", place.look, place.work("run-2")) == "run-2"
    assert place.inherited == ["upload-1"]
    assert time.sleeps == []


def test_a_loser_sees_the_holder_end_between_its_two_looks(rows: Manifest) -> None:
    """The claim is DONE when it asks for it: it looks again before it works."""
    claims, place = claims_in(rows, FakeTime()), Place()
    looks = []

    def look() -> str | None:
        looks.append(place.result)
        if len(looks) == 1:
            once(claims_in(rows, FakeTime()), NAME, "run-1", place.look, place.work("run-1"))
            return None
        return place.result

    assert once(claims, NAME, "run-2", look, place.work("run-2")) == "run-1"
    assert place.tries == ["run-1"]


def test_a_result_that_was_taken_away_is_made_again(rows: Manifest) -> None:
    time, place = FakeTime(), Place()
    once(claims_in(rows, time), NAME, "run-1", place.look, place.work("run-1"))
    place.result = None
    assert once(claims_in(rows, time), NAME, "r", place.look, place.work("run-2")) == "run-2"
    assert time.sleeps == []


def test_a_holder_that_lost_its_claim_waits_for_the_successor(rows: Manifest) -> None:
    claims, place = claims_in(rows, FakeTime()), Place()
    other = claims_in(rows, FakeTime())

    def overtaken(held: Held) -> str:
        mine = other.take_over(held.claim, "run-2")
        assert mine is not None
        place.result = "run-2"
        held.record("upload-1")
        return "not reached"

    assert once(claims, NAME, "run-1", place.look, overtaken) == "run-2"
    claim = claims.look(NAME)
    assert claim is not None
    assert (claim.holder, claim.state) == ("run-2/1", State.HELD)


def test_a_row_that_somebody_removed_is_taken_anew(rows: Manifest) -> None:
    place = Place()
    take(claims_in(rows, FakeTime()), "run-1")
    gone: list[Claim | None] = []

    class Forgetful(Claims):
        def look(self, name: object) -> Claim | None:
            gone.append(None)
            return None if len(gone) == 1 else super().look(NAME)

    some = claims_in(rows, FakeTime())
    claims = Forgetful(some.manifest, some.settings, some.policy, some.effects, some.now)
    assert once(claims, NAME, "run-2", place.look, place.work("run-2")) == "run-2"


def test_a_heart_beats_until_it_is_told_that_the_claim_is_lost() -> None:
    beats, ended = [], Event()

    def beat() -> bool:
        beats.append(1)
        if len(beats) == 2:
            raise TransientStoreError("once")
        if len(beats) == 4:
            ended.set()
        return len(beats) < 4

    with Heartbeat(beat, TICK_S) as heart:
        assert ended.wait(30)
        heart._thread.join(30)
        assert not heart._thread.is_alive()
    assert len(beats) == 4


def test_a_heart_stops_where_nothing_can_be_renewed(caplog: pytest.LogCaptureFixture) -> None:
    def beat() -> bool:
        raise PermanentStoreError("no permission")

    with Heartbeat(beat, TICK_S) as heart:
        heart._thread.join(30)
        assert not heart._thread.is_alive()
    assert "not renewed any more: no permission" in caplog.text


def test_a_claim_is_renewed_while_the_work_runs(rows: Manifest) -> None:
    claims, place = claims_in(rows, FakeTime(), lease_s=0.03), Place()
    renewed = Event()

    def work(held: Held) -> str:
        real = held.renew
        for _ in range(3000):
            if held.claim.token >= 4:
                renewed.set()
                break
            Event().wait(0.01)
        assert real()
        return "done"

    assert once(claims, NAME, "run-1", place.look, work) == "done"
    assert renewed.is_set()


def test_claim_lost_is_a_conflict_that_no_task_retries() -> None:
    assert issubclass(ClaimLost, LeaseHeld)
    assert not ClaimLost.retryable
    assert LeaseHeld.exit_code == 4

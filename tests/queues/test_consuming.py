"""What is acknowledged and what is left: decided purely, and done by a consumer."""

import json
import threading
from collections import Counter
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenemosaic import errors
from scenemosaic.discovery.found import Found
from scenemosaic.errors import InputError, PermanentStoreError, SceneMosaicError
from scenemosaic.queues.consuming import POLL_S, Consumer, Listening
from scenemosaic.queues.heartbeat import Heartbeat
from scenemosaic.queues.port import Message
from scenemosaic.queues.verdict import DEALT_WITH, Delivery, Fate, SceneFate, fate_of, is_dealt_with
from tests.queues.aws import created
from tests.queues.memory import MemoryQueue

BUCKET = "scenes"
TEST_EVENT = '{"Service":"Amazon S3","Event":"s3:TestEvent","Bucket":"scenes"}'
EMPTY = Listening(10_000, at_once=3, stop_when_empty=True)


@dataclass
class Work:
    """Carries scenes out as their names say: ``bad-1.tif`` is refused."""

    seen: Counter[str] = field(default_factory=Counter)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self, found: Found) -> SceneFate:
        name = found.source.rpartition("/")[2]
        with self.lock:
            self.seen[name] += 1
        match name.partition("-")[0]:
            case "bad":
                raise InputError("no raster")
            case "foreign":
                raise errors.ForeignObject("not ours")
            case "gap":
                raise errors.IncompleteError("a window is missing")
            case "once" if self.seen[name] == 1:
                raise errors.TransientStoreError("no answer")
            case "bug":
                raise ZeroDivisionError
        return SceneFate(found.source, Fate.DONE)


def consumed(queue: MemoryQueue, work: Work, how: Listening = EMPTY) -> list[Delivery]:
    told: list[Delivery] = []

    def tell(delivery: Delivery) -> None:
        told.append(delivery)
        queue.settle(delivery.message_id)

    Consumer(queue, work, tell, queue.clock).consume(how)
    return told


def news(*names: str) -> list[str]:
    return [created(BUCKET, name) for name in names]


def test_only_what_is_bad_or_unfinished_is_left_and_only_that_is_buried() -> None:
    good, bad = (
        news("a.tif", "a.tif", "foreign-1.tif", "once-1.tif"),
        news("bad-1.tif", "gap-1.tif"),
    )
    nothing = [TEST_EVENT, *news("readme.md")]
    queue = MemoryQueue([*good, *bad, *nothing, "no message"])
    work = Work()
    told = consumed(queue, work)
    assert queue.messages == []
    assert sorted(queue.dead) == sorted([*bad, "no message"])
    assert work.seen == {
        **{"a.tif": 2, "foreign-1.tif": 1, "once-1.tif": 2, "bad-1.tif": 3, "gap-1.tif": 3}
    }
    assert len(queue.acknowledged) == len(good) + len(nothing)
    left = Counter(scene.fate for one in told if not one.acknowledged for scene in one.scenes)
    assert left == {Fate.REFUSED: 6, Fate.INCOMPLETE: 3, Fate.FAULT: 1}


def test_a_message_of_two_scenes_waits_for_both() -> None:
    records = [json.loads(body)["Records"][0] for body in news("a.tif", "bad-1.tif")]
    both = json.dumps({"Records": records})
    queue, work = MemoryQueue([both]), Work()
    consumed(queue, work)
    assert (queue.acknowledged, queue.dead) == ([], [both])
    assert work.seen == {"a.tif": 3, "bad-1.tif": 3}


def test_it_stops_when_the_time_is_over_and_ends_what_it_has_in_hand() -> None:
    queue, work = MemoryQueue(news(*(f"{n}.tif" for n in range(40)))), Work()
    told = consumed(queue, work, Listening(5, at_once=2))
    assert len(told) == len(queue.acknowledged) == work.seen.total() <= 10
    assert len(queue.messages) == 40 - len(told)


def test_it_listens_on_while_nothing_comes_until_the_time_is_over() -> None:
    queue = MemoryQueue([])
    assert consumed(queue, Work(), Listening(100)) == []
    assert queue.now >= 100
    assert consumed(empty := MemoryQueue([]), Work()) == []
    assert empty.now == 1 + POLL_S


def test_a_bug_is_not_swallowed() -> None:
    queue = MemoryQueue(news("bug-1.tif", "a.tif"))
    with pytest.raises(ZeroDivisionError):
        consumed(queue, Work())
    assert queue.acknowledged in ([], ["m1"])


def test_a_queue_that_cannot_be_asked_is_an_error_and_what_is_in_hand_is_ended() -> None:
    class Broken(MemoryQueue):
        def receive(self, at_most: int, wait_s: int) -> list[Message]:
            if self.now:
                raise PermanentStoreError("no such queue")
            return super().receive(at_most, wait_s)

    queue = Broken(news("a.tif", "b.tif"))
    with pytest.raises(PermanentStoreError, match="no such queue"):
        consumed(queue, Work())
    assert len(queue.acknowledged) == 2


def test_an_acknowledgement_that_fails_is_told_and_the_message_comes_again() -> None:
    class Deaf(MemoryQueue):
        def acknowledge(self, message: Message) -> None:
            if message.deliveries == 1:
                raise PermanentStoreError("no answer")
            super().acknowledge(message)

    told = consumed(Deaf(news("a.tif")), Work())
    assert [(one.count, one.acknowledged, one.detail) for one in told] == [
        (1, False, "no answer"),
        (2, True, ""),
    ]


def test_the_heart_beats_for_what_is_held_and_outlives_a_fault() -> None:
    class Faulty(MemoryQueue):
        def keep(self, message: Message) -> None:
            super().keep(message)
            if message.message_id == "m0":
                raise PermanentStoreError("no answer")

    queue = Faulty(["a", "b"])
    heart = Heartbeat(queue)
    one, other = queue.receive(2, 0)
    with heart.keeping(one), heart.keeping(other):
        heart.beat()
        heart.beat()
    heart.beat()
    assert Counter(queue.kept) == {"m0": 2, "m1": 2}


def test_a_consumer_keeps_its_messages_while_it_works() -> None:
    beaten = threading.Event()

    class Watched(MemoryQueue):
        def keep(self, message: Message) -> None:
            super().keep(message)
            beaten.set()

    def slow(found: Found) -> SceneFate:
        assert beaten.wait(60)
        return SceneFate(found.source, Fate.DONE)

    queue = Watched(news("a.tif"), hidden_s=1)
    Consumer(queue, slow, clock=queue.clock).consume(EMPTY)
    assert (queue.acknowledged, set(queue.kept)) == (["m0"], {"m0"})


every_error = [
    kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, SceneMosaicError)
]


@pytest.mark.parametrize("kind", every_error)
def test_every_error_has_a_fate_and_a_conflict_alone_is_dealt_with(
    kind: type[SceneMosaicError],
) -> None:
    fate = fate_of(kind("why"))
    assert (fate in DEALT_WITH) == issubclass(kind, errors.ConflictError)


@given(st.lists(st.sampled_from(Fate)))
def test_one_that_is_left_leaves_the_message(fates: list[Fate]) -> None:
    scenes = [SceneFate("s3://b/a.tif", fate) for fate in fates]
    assert is_dealt_with(scenes) == (set(fates) <= DEALT_WITH)


@pytest.mark.parametrize("how", [(-1, 1), (1, 0)])
def test_a_consumer_that_could_not_work_is_refused(how: tuple[float, int]) -> None:
    with pytest.raises(InputError, match="cannot listen"):
        Listening(*how)

"""The SQS adapter on real servers: hidden, kept, acknowledged, moved by the queue's own count."""

from collections.abc import Iterator

import pytest

from scenemosaic.errors import InputError, PermanentStoreError, TransientStoreError
from scenemosaic.queues.sqs import SqsQueue
from scenemosaic.waiting.retry import Effects, RetryPolicy
from tests import servers
from tests.queues.aws import Queues, make_queues

MOST = 2
LONG_S = 600


@pytest.fixture(params=["ministack", "moto_server"])
def queues(request: pytest.FixtureRequest) -> Queues:
    return make_queues(request.getfixturevalue(request.param), MOST)


def opened(queues: Queues, hidden_s: int = LONG_S) -> SqsQueue:
    return SqsQueue(queues.url, hidden_s)


def test_received_hidden_and_acknowledged(queues: Queues) -> None:
    queues.send(["one", "two", "three"])
    queue = opened(queues)
    messages = queue.receive(2, 0) + queue.receive(10, 0)
    assert sorted(message.body for message in messages) == ["one", "three", "two"]
    assert {message.deliveries for message in messages} == {1}
    assert queue.receive(10, 0) == []
    assert queues.left() == 3
    for message in messages:
        queue.acknowledge(message)
    assert queues.left() == 0
    queue.close()


def test_what_is_not_acknowledged_comes_again_and_then_the_queue_moves_it(queues: Queues) -> None:
    queues.send(["bad"])
    queue = opened(queues, hidden_s=1)
    counts = [message.deliveries for _ in range(MOST) for message in queue.receive(1, 20)]
    assert counts == [1, 2]
    assert queue.receive(1, 2) == []
    assert (queues.left(), queues.dead()) == (0, ["bad"])


def test_a_kept_message_stays_hidden(queues: Queues) -> None:
    queues.send(["slow"])
    (message,) = opened(queues, hidden_s=1).receive(1, 0)
    queue = opened(queues)
    queue.keep(message)
    assert queue.receive(1, 2) == []
    queue.acknowledge(message)
    assert queues.left() == 0


def test_an_old_receipt_takes_nothing_away_and_is_no_error(queues: Queues) -> None:
    queues.send(["one"])
    queue = opened(queues, hidden_s=1)
    (old,) = queue.receive(1, 0)
    (new,) = opened(queues).receive(1, 20)
    assert (new.message_id, new.deliveries) == (old.message_id, 2)
    queue.acknowledge(new)
    for act in (queue.keep, queue.acknowledge):
        act(old)
        act(new)
    assert queues.left() == 0


def test_a_queue_that_is_not_there_is_named_and_not_asked_twice(queues: Queues) -> None:
    queue = SqsQueue(f"{queues.url}-not")
    with pytest.raises(PermanentStoreError, match=r"ReceiveMessage on http.*-not"):
        queue.receive(1, 0)


@pytest.fixture
def pauses() -> list[float]:
    return []


@pytest.fixture
def unreachable(pauses: list[float]) -> Iterator[SqsQueue]:
    url = f"http://127.0.0.1:{servers.free_port()}/0/q"
    effects = Effects(lambda: 0.0, pauses.append, lambda: 1.0)
    queue = SqsQueue(url, policy=RetryPolicy(attempts=3), effects=effects)
    yield queue
    queue.close()


def test_a_server_that_is_away_is_asked_again_and_then_a_transient_error(
    unreachable: SqsQueue, pauses: list[float]
) -> None:
    with pytest.raises(TransientStoreError, match="SQS ReceiveMessage on http://127"):
        unreachable.receive(1, 0)
    assert len(pauses) == 2


@pytest.mark.parametrize("url", ["queue", "sqs://queue", "http://user@host/0/q", "https://host"])
def test_what_is_no_url_of_a_queue_is_refused(url: str) -> None:
    with pytest.raises(InputError, match="by its URL"):
        SqsQueue(url)


def test_the_region_is_the_url_s() -> None:
    queue = SqsQueue("https://sqs.eu-west-3.amazonaws.com/123456789012/scenes")
    assert queue._client.meta.region_name == "eu-west-3"

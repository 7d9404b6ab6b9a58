"""The races at their full length, and the body that a refusal saves."""

import dataclasses
from collections.abc import Callable

import pytest

from scenemosaic.stores import open_store
from scenemosaic.stores.port import Answer, IfAbsent
from tests.faults.proxy import Proxy
from tests.faults.test_proxy import early_server
from tests.lengths import length
from tests.scenarios.stands import Stand
from tests.stores import conformance
from tests.stores.conformance import KEY, MIB, body
from tests.stores.doors import Harness, LocalDoor
from tests.stores.patient import Patient

# The manifests' races are as long: tests/manifests/test_conformance.py. In a folder it is our own
# code that lets one win, in an emulator it is the emulator's, and a round takes ten times as long.
ROUNDS, OF_AN_EMULATOR = 100, length(10, 100)


@pytest.mark.slow
def test_32_threads_again_and_again_and_one_winner_each(stand: Stand) -> None:
    rounds = ROUNDS if isinstance(stand.door, LocalDoor) else OF_AN_EMULATOR
    harness = Harness(Patient(stand.direct), stand.door, stand.versioned, race_rounds=rounds)
    conformance.lets_one_of_many_win(harness)
    assert len(stand.door.keys()) == rounds


@pytest.mark.slow
def test_the_race_is_noticed_where_conditions_are_ignored(
    make_stand: Callable[[str], Stand],
) -> None:
    from tests.faults.stores import IgnoresConditions

    sound = make_stand("local")
    pretending = dataclasses.replace(sound, direct=IgnoresConditions(sound.direct))
    with pytest.raises(AssertionError):
        test_32_threads_again_and_again_and_one_winner_each(pretending)


def test_a_refused_put_of_8_mib_sends_no_body(monkeypatch: pytest.MonkeyPatch) -> None:
    with early_server() as upstream, Proxy(upstream) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL_S3", proxy.url)
        store = open_store("s3://some-bucket/p")
        result = store.put(KEY, body(bytes(8 * MIB)), IfAbsent())
        store.close()
    assert result.answer is Answer.REFUSED
    assert [(seen.method, seen.body_bytes) for seen in proxy.requests] == [("PUT", 0)]

"""How long a run waits for Prefect's server, and that it outlives who reads its log."""

import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import httpx
import pytest

from flows.server import patience
from flows.server.patience import PAUSE_S, await_server, patiently
from tests.flows.serving import environment

READER_DIES = """
import sys
from prefect.logging import get_logger
from prefect.logging.configuration import setup_logging
setup_logging()  # as whatever carries out a flow run does
get_logger("engine").error("one")
{prepare}
sys.stdin.read()
for text in ("two", "three"):
    get_logger("engine").error(text)
print("went on")
"""


def answers(*given: "str | Exception") -> Callable[[], str]:
    left = iter(given)

    def ask() -> str:
        one = next(left)
        if isinstance(one, Exception):
            raise one
        return one

    return ask


def answered(code: int) -> httpx.HTTPStatusError:
    request = httpx.Request("GET", "http://127.0.0.1/api")
    return httpx.HTTPStatusError(str(code), request=request, response=httpx.Response(code))


class Time:
    def __init__(self) -> None:
        self.now_s = 0.0

    def clock(self) -> float:
        return self.now_s

    def stopped(self, pause_s: float) -> bool:
        self.now_s += pause_s
        return False


def test_a_server_that_is_away_is_asked_again() -> None:
    time = Time()
    ask = answers(httpx.ConnectError("away"), answered(503), answered(429), "there")
    assert patiently(ask, 900, time.clock, time.stopped) == "there"
    assert time.now_s == 3 * PAUSE_S


@pytest.mark.parametrize("patience_s", [0.0, 15.0, 900.0])
def test_patience_has_an_end(patience_s: float) -> None:
    time = Time()

    def ask() -> str:
        raise httpx.ConnectError("away")

    with pytest.raises(httpx.ConnectError):
        patiently(ask, patience_s, time.clock, time.stopped)
    assert patience_s <= time.now_s < patience_s + PAUSE_S


def test_a_refusal_is_an_answer_and_who_stops_does_not_wait() -> None:
    time = Time()
    with pytest.raises(httpx.HTTPStatusError):
        patiently(answers(answered(409)), 900, time.clock, time.stopped)
    with pytest.raises(httpx.ConnectError):
        patiently(answers(httpx.ConnectError("away")), 900, time.clock, lambda pause_s: True)
    assert time.now_s == 0


def test_only_a_deployments_run_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    def ask(**_: Any) -> Iterator[None]:
        raise AssertionError("nobody is asked")

    monkeypatch.setattr(patience, "get_client", ask)
    await_server()


@pytest.mark.parametrize(
    ("prepare", "env"),
    [
        ("from flows.server.outliving import outlive_readers; outlive_readers()", {}),
        ("import flows.verify", {"PREFECT__FLOW_RUN_ID": "00000000-0000-4000-8000-000000000000"}),
    ],
    ids=["within a flow", "as a deployment's flow is loaded"],
)
def test_a_run_outlives_who_reads_its_log(prepare: str, env: Mapping[str, str]) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", READER_DIES.format(prepare=prepare)],
        env=environment(env),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        assert b"one" in process.stderr.readline()
        process.stderr.close()
        process.stdin.close()
        assert process.stdout.read() == b"went on\n"
    assert process.returncode == 0

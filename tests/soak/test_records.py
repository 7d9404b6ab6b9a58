"""A refusal that fails a run is seen; a run that the server forgot is told from one that hangs."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.soak.records import failed_for_a_refusal, is_forgotten

NOW = datetime(2024, 5, 1, tzinfo=UTC)


def run(state: str, message: str | None) -> dict[str, Any]:
    said = {"message": message, "timestamp": NOW.isoformat()}
    return {"name": "a", "state_type": state, "state_name": state, "state": said}


@pytest.mark.parametrize(
    "message",
    [
        "PutObject of s3://a/b: PreconditionFailed (412)",
        "The conditional request failed: ConditionalCheckFailedException",
        "Superseded: somebody was faster",
        "UNIQUE constraint failed: manifest_rows",
    ],
)
def test_a_refusal_is_no_reason_to_fail(message: str) -> None:
    failed = [run("FAILED", message)]
    assert len(failed_for_a_refusal(failed, failed)) == 2
    assert failed_for_a_refusal([run("COMPLETED", message)], []) == []


@pytest.mark.parametrize("message", ["Could not connect to the endpoint", "SIGKILL", None])
def test_a_kill_is(message: str | None) -> None:
    assert failed_for_a_refusal([], [run("CRASHED", message)]) == []


def test_only_a_server_that_died_later_forgets() -> None:
    open_run, moment = run("PENDING", None), timedelta(seconds=1)
    assert is_forgotten(open_run, [NOW - moment, NOW + moment])
    assert not is_forgotten(open_run, [NOW - moment])
    assert not is_forgotten(open_run, [])

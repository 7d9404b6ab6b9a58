"""A Prefect API that fails a command under way: one line, exit 5, and what was done stays."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from prefect.exceptions import PrefectHTTPStatusError

from flows.cli import run
from flows.scenes import repairing
from flows.server import lost
from flows.server.api import PrefectUnavailable
from flows.starting import planned_run
from flows.verbs import process
from tests.flows.scenes import BLOCK, WINDOW

SECRET = "hunter2"


def answered(status: int) -> httpx.HTTPError:
    """What Prefect's client makes of an answer, whose text holds the URL."""
    url = f"http://user:{SECRET}@127.0.0.1:9/api/flow_runs/"
    response = httpx.Response(status, request=httpx.Request("POST", url), json={})
    with pytest.raises(httpx.HTTPStatusError) as caught:
        response.raise_for_status()
    return PrefectHTTPStatusError.from_httpx_error(caught.value)


FAULTS = pytest.mark.parametrize(
    ("fault", "text"),
    [
        (httpx.ConnectError("refused"), "Prefect's API went away (refused)"),
        (answered(500), "Prefect's API answered 500 Internal Server Error"),
        (answered(401), "Prefect's API answered 401 Unauthorized"),
    ],
    ids=["away", "500", "401"],
)


def failing(fault: Exception) -> Callable[..., Any]:
    def fail(*given: Any, **more: Any) -> Any:
        raise fault

    return fail


@FAULTS
def test_a_command_says_what_became_of_it(
    fault: httpx.HTTPError,
    text: str,
    scene: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(process, "ensure_api", lambda announce: "")
    monkeypatch.setattr(planned_run, "process_planned", failing(fault))
    sizes = ["--window", str(WINDOW), "--block-size", str(BLOCK)]
    assert run(["process", str(scene), "--to", str(tmp_path / "root"), *sizes]) == 5
    said = capsys.readouterr().err.splitlines()[-1]
    assert f"{text}; what is committed stays: run the command again" in said
    assert SECRET not in said


@FAULTS
def test_a_repair_says_so_too(
    fault: httpx.HTTPError, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repairing, "Flow", lambda *given, **more: failing(fault))
    found: Any = SimpleNamespace(spec=SimpleNamespace(plan=SimpleNamespace(job_id="0")))
    given: dict[str, Any] = {"run": None, "limits": None, "unrecorded": []}
    with pytest.raises(PrefectUnavailable) as caught:
        repairing.all_windows_in_a_flow(found, **given)
    assert f"{text}; what was replaced stays" in str(caught.value)
    assert SECRET not in str(caught.value)


def test_a_temporary_server_that_refuses_names_its_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lost, "is_temporary", lambda: True)
    assert "TMPDIR names another" in lost.said(answered(500))

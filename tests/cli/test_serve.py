"""Which of Prefect's servers ``scenemosaic serve`` uses, and that it says so."""

import os

import pytest

from flows.verbs import serve as cli_serve

URL = "http://127.0.0.1:4321/api"


@pytest.mark.parametrize(
    ("configured", "said"),
    [(None, f"that answers on {URL}"), ("http://host/api", "is configured: http://host/api")],
)
def test_a_server_that_is_there_is_named_and_none_is_started(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    configured: str | None,
    said: str,
) -> None:
    monkeypatch.setenv("PREFECT_API_URL", "")  # put back afterwards
    monkeypatch.setattr(cli_serve, "configured_api", lambda: configured)
    monkeypatch.setattr(cli_serve, "answers", lambda url: url == URL)
    monkeypatch.setattr(
        cli_serve, "ensure_api", lambda say: configured or os.environ["PREFECT_API_URL"]
    )
    with cli_serve._api(4321) as url:
        assert url == (configured or URL)
    err = capsys.readouterr().err
    assert said in err
    assert ("--port 4321 is for a server made here, and not used" in err) is (
        configured is not None
    )
    assert "starting" not in err

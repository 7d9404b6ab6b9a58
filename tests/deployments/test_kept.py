"""What was set in Prefect, and does not fit a later version, is a mistake that is named."""

from typing import Any

import httpx
import pytest
from prefect import flow
from prefect.runner import Runner

from flows.server import serving
from scenemosaic.errors import InputError


@flow(name="some-flow")
def some_flow(to: str = "") -> None:
    """Never run."""


@pytest.mark.parametrize(("code", "raised"), [(409, InputError), (503, httpx.HTTPStatusError)])
def test_parameters_that_do_not_fit(
    monkeypatch: pytest.MonkeyPatch, code: int, raised: type[Exception]
) -> None:
    request = httpx.Request("PATCH", "http://127.0.0.1/api/deployments/1")
    answer = httpx.Response(code, json={"detail": "'colour' was unexpected"}, request=request)

    def refuse(*_: Any) -> None:
        answer.raise_for_status()

    monkeypatch.setattr(Runner, "add_deployment", refuse)
    made: Any = some_flow.to_deployment("default")
    with pytest.raises(raised) as caught:
        serving.register(Runner(), made)
    if raised is InputError:
        assert "some-flow/default was given in Prefect" in str(caught.value)
        assert "'colour' was unexpected" in str(caught.value)

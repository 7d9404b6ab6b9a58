"""Who a run says it is: its ID, and the operator whom the audit log names."""

import getpass
import socket
from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest
from prefect.client.schemas.objects import CreatedBy
from prefect.context import FlowRunContext

from flows import runs, who


@pytest.fixture(autouse=True)
def nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(who.OPERATOR, raising=False)


@pytest.mark.parametrize(
    ("environment", "creator", "named"),
    [
        ({"SCENEMOSAIC_OPERATOR": "ada"}, "", "ada"),
        ({"SCENEMOSAIC_OPERATOR": "ada"}, "bob", "ada"),
        ({"SCENEMOSAIC_OPERATOR": ""}, "bob", "bob"),
        ({}, "bob", "bob"),
    ],
)
def test_the_operator(
    environment: dict[str, str], creator: str, named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert who.operator(creator) == named


def test_without_a_name_it_is_user_and_host() -> None:
    assert who.operator() == f"{getpass.getuser()}@{socket.gethostname()}"


def test_a_user_without_a_name_has_a_number() -> None:
    with mock.patch.object(getpass, "getuser", side_effect=KeyError("uid not found")):
        assert who.operator().startswith("uid-")


def test_every_command_is_a_run_of_its_own() -> None:
    one, other = runs.command_run(), runs.command_run(strict_history=True)
    assert one.run_id != other.run_id
    assert one.run_id == one.written_by
    assert one.operator
    assert (one.strict_history, other.strict_history) == (False, True)


@pytest.mark.parametrize(
    ("creator", "named"),
    [(None, None), (CreatedBy(), None), (CreatedBy(display_value="eve"), "eve")],
)
def test_a_flows_run_is_prefects_and_its_creators(
    creator: CreatedBy | None, named: str | None
) -> None:
    context: Any = SimpleNamespace(flow_run=SimpleNamespace(id="f-1", created_by=creator))
    with mock.patch.object(FlowRunContext, "get", return_value=context):
        found = runs.flow_run(strict_history=True)
    assert (found.run_id, found.written_by, found.strict_history) == ("f-1", "f-1", True)
    assert found.operator == (named or who.operator())


def test_outside_of_any_flow_it_is_a_run_of_its_own() -> None:
    assert runs.flow_run().run_id != runs.flow_run().run_id

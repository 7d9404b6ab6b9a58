"""What a command in a module's fixture did to logging reaches no test."""

import logging
from collections.abc import Callable

import pytest

from flows.in_process import quiet_prefect
from flows.terminal.console import log_to_stderr


@pytest.fixture(scope="module", params=[quiet_prefect, lambda: log_to_stderr(False)])
def command(request: pytest.FixtureRequest) -> Callable[[], None]:
    act: Callable[[], None] = request.param
    act()
    return act


def test_what_is_routine_is_heard(
    command: Callable[[], None], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, logger="scenemosaic"):
        logging.getLogger("scenemosaic.anything").info("routine")
    assert caplog.messages == ["routine"]
    command()  # and what one in a test itself does is gone for the next

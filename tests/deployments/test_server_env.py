"""The template of a server's settings says what ``serve`` gives to a server of its own."""

from flows.verbs.serve import LEASES
from tests.conftest import REPOSITORY


def test_slots_outlive_the_server() -> None:
    lines = (REPOSITORY / "deployments" / "server.env").read_text().splitlines()
    given = dict(line.split("=", 1) for line in lines if "=" in line and not line.startswith("#"))
    assert LEASES.items() <= given.items()

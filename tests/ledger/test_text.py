"""A ledger comes from outside: whatever is not one is named, and never adopted."""

import json
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenemosaic.errors import ForeignObject
from scenemosaic.ledger.state import Cleared, Entry, State
from scenemosaic.ledger.text import dump, load
from tests.ledger.times import FACTS, NOON, wish

URI = "s3://bucket/ledger/l.json"
FULL = State(
    "l",
    7,
    "run-3/abc",
    wish("c", NOON + timedelta(hours=2)),
    (
        Entry(wish("a"), NOON, FACTS),
        Entry(wish("b"), NOON, Cleared("op@host", "dead · tot")),
    ),
)


def test_it_comes_back_as_it_was() -> None:
    assert load(dump(FULL), "l", URI) == FULL
    assert load(dump(State("l")), "l", URI) == State("l")


def spoilt(**changes: Any) -> bytes:
    return json.dumps(json.loads(dump(FULL)) | changes).encode()


ENTRY = json.loads(dump(FULL))["history"][0]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff",
        b"[]",
        b"{}",
        b"[" * 100_000,
        spoilt(revision="7"),
        spoilt(revision=-1),
        spoilt(revision=True),
        spoilt(name="other"),
        spoilt(unknown=1),
        spoilt(scenemosaic_ledger=True),
        spoilt(active=[]),
        spoilt(active={"run_id": "x"}),
        spoilt(history=None),
        spoilt(history=[ENTRY] * 201),
        spoilt(history=[ENTRY | {"cleared": {"by": "x", "reason": "y"}}]),
        spoilt(history=[{k: v for k, v in ENTRY.items() if k != "published"}]),
        spoilt(history=[ENTRY | {"ended_at": "yesterday"}]),
        spoilt(history=[ENTRY | {"ended_at": "2026-01-01T00:00:00"}]),
        spoilt(history=[ENTRY | {"ended_at": "2026-01-01T00:00:00+02:00"}]),
        spoilt(history=[ENTRY | {"run_id": "two\nlines"}]),
        spoilt(history=[ENTRY | {"slots": 10**9}]),
    ],
)
def test_what_is_no_ledger_is_refused_by_its_address(data: bytes) -> None:
    with pytest.raises(ForeignObject, match=URI):
        load(data, "l", URI)


def test_a_newer_schema_says_so() -> None:
    with pytest.raises(ForeignObject, match=r"schema is 2.*upgrade"):
        load(spoilt(scenemosaic_ledger=2), "l", URI)


@given(st.binary(max_size=60), st.integers(0, 800))
def test_damage_is_an_error_of_ours_or_another_valid_ledger(damage: bytes, place: int) -> None:
    data = dump(FULL)
    hurt = data[:place] + damage + data[place + len(damage) :]
    try:
        state = load(hurt, "l", URI)
    except ForeignObject:
        return
    assert load(dump(state), "l", URI) == state

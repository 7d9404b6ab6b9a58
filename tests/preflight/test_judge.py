"""What a round's answers prove, against a model of a store that keeps its promise."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenemosaic.preflight.races import Attempt, judge
from scenemosaic.stores.port import Answer

FATES = st.sampled_from(["answered", "lost", "lost before it landed", "409"])


def history(fates: Sequence[str]) -> tuple[list[Attempt], str | None]:
    """The attempts of one race in the order in which they reach an honest store."""
    stored, attempts = None, []
    for number, fate in enumerate(fates):
        mark, answer = f"w{number}", Answer.REFUSED
        if stored is None and fate in ("answered", "lost"):
            stored, answer = mark, Answer.WRITTEN
        known = {"answered": answer, "409": Answer.RACING}
        attempts.append(Attempt(mark, known.get(fate)))
    return attempts, stored


@given(st.lists(FATES, min_size=2, max_size=12))
def test_an_honest_store_is_never_accused(fates: list[str]) -> None:
    attempts, stored = history(fates)
    judgement = judge(attempts, lambda: stored)
    assert judgement.problem == ""
    assert judgement.conclusive == (stored is not None)


@given(st.lists(FATES, min_size=2, max_size=12), st.data())
def test_a_second_winner_is_seen(fates: list[str], data: st.DataObject) -> None:
    attempts, stored = history(["answered", *fates])
    other = data.draw(st.integers(1, len(attempts) - 1))
    attempts[other] = Attempt(attempts[other].mark, Answer.WRITTEN)
    assert "2 of" in judge(attempts, lambda: stored).problem


@given(st.lists(FATES, min_size=2, max_size=12), st.data())
def test_an_overwritten_winner_is_seen(fates: list[str], data: st.DataObject) -> None:
    attempts, _ = history(["answered", *fates])
    other = data.draw(st.sampled_from(attempts[1:]))
    assert judge(attempts, lambda: other.mark).problem
    assert judge(attempts, lambda: None).problem


def test_what_no_writer_sent_is_a_problem() -> None:
    attempts = [Attempt("a", None), Attempt("b", Answer.REFUSED)]
    assert judge(attempts, lambda: "").problem
    assert judge(attempts, lambda: "b").problem
    assert not judge(attempts, lambda: "a").problem


@pytest.mark.parametrize("stored", [None, "what stood there before"])
def test_where_nobody_is_known_to_have_won_nothing_is_proven(stored: str | None) -> None:
    attempts = [Attempt("a", None), Attempt("b", Answer.RACING)]
    judgement = judge(attempts, lambda: stored)
    assert not judgement.conclusive
    assert not judgement.problem

"""Taking, renewing, handing down: one holder at a time, whatever reply is lost."""

import dataclasses

import pytest

from scenemosaic.claiming.claims import (
    LEASE_VARIABLE,
    ClaimSettings,
    State,
    claim_of,
    row_of,
    settings_from,
)
from scenemosaic.claiming.held import Held
from scenemosaic.errors import ClaimLost, ForeignObject, InputError, TransientStoreError
from scenemosaic.manifests.port import Manifest
from tests.claims.conftest import LEASE_S, NAME, claims_in
from tests.claims.manifests import LosesReplies
from tests.faults.effects import FakeTime
from tests.manifests.support import Case, at_once, row


def test_the_first_to_ask_has_it(rows: Manifest) -> None:
    claims = claims_in(rows, FakeTime())
    assert claims.look(NAME) is None
    first, ours = claims.take(NAME, "run-1")
    assert ours
    assert (first.holder, first.token, first.state) == ("run-1/1", 1, State.HELD)
    second, ours = claims.take(NAME, "run-2")
    assert not ours
    assert second == claims.look(NAME)
    assert second.holder == "run-1/1"


def test_the_same_run_taking_it_twice_is_two_holders(rows: Manifest) -> None:
    claims = claims_in(rows, FakeTime())
    claims.take(NAME, "run-1")
    assert claims.take(NAME, "run-1")[1] is False


@pytest.mark.parametrize("lands", [True, False])
def test_a_lost_reply_to_the_insert(rows: Manifest, lands: bool) -> None:
    claims = claims_in(LosesReplies(rows, 2, lands), FakeTime())
    assert claims.take(NAME, "run-1")[1] is True
    assert rows.get(NAME.partition, NAME.name) is not None


@pytest.mark.parametrize("lands", [True, False])
def test_a_lost_reply_to_any_change(rows: Manifest, lands: bool) -> None:
    faulty = LosesReplies(rows, 0, lands)
    claims = claims_in(faulty, FakeTime())
    claim, _ = claims.take(NAME, "run-1")
    held = Held(claims, claim, fresh=True)
    faulty.lost = 2
    held.record("upload-1")
    assert not held.lost
    stored = claims.look(NAME)
    assert stored == held.claim
    assert stored is not None
    assert (stored.upload_id, stored.token) == ("upload-1", 2)


def test_a_change_after_a_beat_whose_reply_was_lost(rows: Manifest) -> None:
    """The beat landed unseen, so that the token in hand is old: it is still our claim."""
    faulty = LosesReplies(rows, 0)
    claims = claims_in(faulty, FakeTime())
    held = Held(claims, claims.take(NAME, "run-1")[0], fresh=True)
    faulty.lost = 1
    with pytest.raises(TransientStoreError):
        held.renew()
    held.record("upload-1")
    stored = claims.look(NAME)
    assert stored is not None
    assert (stored.upload_id, stored.token) == ("upload-1", 3)
    assert held.renew()


def test_a_takeover_hands_down_the_upload_and_ends_the_first_holders_say(rows: Manifest) -> None:
    claims = claims_in(rows, FakeTime())
    first = Held(claims, claims.take(NAME, "run-1")[0], fresh=True)
    first.record("upload-1")
    mine = claims.take_over(first.claim, "run-2")
    assert mine is not None
    second = Held(claims, mine, fresh=False)
    assert second.inherited == "upload-1"
    assert first.renew() is False
    assert first.lost
    with pytest.raises(ClaimLost):
        first.record("upload-2")
    first.give_back(State.FREE)
    assert claims.look(NAME) == second.claim


def test_a_takeover_of_a_claim_that_was_renewed_fails(rows: Manifest) -> None:
    claims = claims_in(rows, FakeTime())
    seen, _ = claims.take(NAME, "run-1")
    assert Held(claims, seen, fresh=True).renew()
    assert claims.take_over(seen, "run-2") is None
    now = claims.look(NAME)
    assert now is not None
    assert (now.holder, now.token) == ("run-1/1", 2)


def test_what_is_given_back(rows: Manifest) -> None:
    claims = claims_in(rows, FakeTime())
    held = Held(claims, claims.take(NAME, "run-1")[0], fresh=True)
    held.record("upload-1")
    held.give_back(State.FREE)
    assert held.claim.upload_id == "upload-1", "its abort may have failed: a successor tries again"
    held.give_back(State.DONE)
    stored = claims.look(NAME)
    assert stored is not None
    assert (stored.state, stored.upload_id) == (State.DONE, None)


def test_a_claim_that_cannot_be_given_back_is_no_error(
    rows: Manifest, caplog: pytest.LogCaptureFixture
) -> None:
    faulty = LosesReplies(rows, 0, lands=False)
    claims = claims_in(faulty, FakeTime())
    held = Held(claims, claims.take(NAME, "run-1")[0], fresh=True)
    faulty.lost = 99
    held.give_back(State.DONE)
    assert "runs out by itself" in caplog.text


def test_a_row_that_is_no_claim_is_named(rows: Manifest) -> None:
    rows.insert(row(NAME.name, NAME.partition))
    with pytest.raises(ForeignObject, match=r"assembly.*claims:job@root"):
        claims_in(rows, FakeTime()).take(NAME, "run-1")


def test_a_claim_is_no_row_of_the_job(rows: Manifest) -> None:
    claims_in(rows, FakeTime()).take(NAME, "run-1")
    assert list(rows.windows(["job@root"])) == []


@pytest.mark.parametrize("text", ["0", "-1", "inf", "nan", "soon", ""])
def test_a_lease_that_is_none_is_bad_input(text: str) -> None:
    with pytest.raises(InputError):
        settings_from({LEASE_VARIABLE: text})
    assert settings_from({LEASE_VARIABLE: "0.5"}).lease_s == 0.5
    assert settings_from({}).lease_s == ClaimSettings().lease_s


def test_every_adapter_keeps_a_claim_exactly(made: Manifest, case: Case) -> None:
    claims = claims_in(made, FakeTime())
    claim, _ = claims.take(NAME, "run-1")
    held = Held(claims, claim, fresh=True)
    held.record("2~a+b/c=" * 30)
    assert held.renew()
    stored = made.get(NAME.partition, NAME.name)
    assert stored is not None
    assert stored == row_of(held.claim)
    assert claim_of(stored) == held.claim
    assert case.raw_read(NAME.partition, NAME.name)["revision"] == 3  # type: ignore[index]
    assert held.claim.lease_s == LEASE_S


def test_on_every_adapter_one_of_many_takes_it(made: Manifest) -> None:
    answers = at_once(16, lambda n: claims_in(made, FakeTime()).take(NAME, f"run-{n}"))
    winners = [claim for claim, ours in answers if ours]
    assert len(winners) == 1
    assert {claim.holder for claim, _ in answers} == {winners[0].holder}


def test_on_every_adapter_one_of_many_takes_it_over(made: Manifest) -> None:
    seen, _ = claims_in(made, FakeTime()).take(NAME, "dead")
    seen = dataclasses.replace(seen, upload_id="upload-1")
    answers = at_once(16, lambda n: claims_in(made, FakeTime()).take_over(seen, f"run-{n}"))
    assert sum(answer is not None for answer in answers) == 1

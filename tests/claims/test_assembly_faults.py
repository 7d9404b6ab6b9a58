"""One assembly of a large mosaic, and the network, another writer or the store interferes."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from scenemosaic.errors import ForeignObject, PermanentStoreError, TransientStoreError
from scenemosaic.publishing import publish
from scenemosaic.session import open_session
from scenemosaic.stores.s3_multipart import Multipart
from scenemosaic.waiting.retry import RetryPolicy
from tests.faults.proxy import LOST_REPLIES, Fault, once
from tests.faults.wire import Request
from tests.jobs.assembling import (
    Committed,
    commit_all,
    is_abort,
    is_complete,
    is_create,
    is_part,
    mosaic_of,
    upload_of,
)
from tests.jobs.conftest import committed, noise, s3_place
from tests.jobs.places import MakePlace, Place
from tests.stores.fronts import Answered, Asked, Front

__all__ = ["committed", "noise", "s3_place"]

FAST = [fault for fault in LOST_REPLIES if fault is not Fault.HANG]
STEPS = {"create": is_create, "part": is_part, "complete": is_complete}


def state_of(committed: Committed) -> dict[str, str]:
    return dict(json.loads(committed.claim()["software"]["S"]))


@pytest.mark.parametrize("fault", FAST)
@pytest.mark.parametrize("step", STEPS)
def test_a_lost_reply(committed: Committed, step: str, fault: Fault, tmp_path: Path) -> None:
    committed.proxy.rule = once(fault, STEPS[step])
    assert committed.assemble("run-1").outcome == "written"
    assert len(committed.seen(is_create)) == (2 if step == "create" else 1)
    committed.check(tmp_path)
    assert state_of(committed)["claim"] == "done"


@pytest.mark.parametrize("fault", FAST)
def test_a_lost_reply_to_the_record_of_the_upload(
    committed: Committed, fault: Fault, tmp_path: Path
) -> None:
    def records(seen: Request) -> bool:
        return seen.operation == "PutItem" and bool(committed.seen(is_create))

    committed.proxy.rule = once(fault, records)
    assert committed.assemble("run-1").outcome == "written"
    assert len(committed.seen(is_create)) == 1
    committed.check(tmp_path)


def test_the_claim_knows_each_upload_before_its_first_part(
    committed: Committed, tmp_path: Path
) -> None:
    """A 409 to Complete: a new upload with all parts, and its ID in the claim instead."""
    known: list[tuple[str, str]] = []
    strike = once(Fault.REFUSE_409, is_complete)

    def rule(seen: Request) -> Fault | float | None:
        if is_part(seen) or is_complete(seen):
            known.append((upload_of(seen), state_of(committed)["upload_id"]))
        return strike(seen)

    committed.proxy.rule = rule
    assert committed.assemble("run-1").outcome == "written"
    assert all(used == recorded for used, recorded in known)
    first, second = dict.fromkeys(used for used, _ in known)
    assert [upload_of(seen) for seen in committed.seen(is_abort)] == [first]
    parts = [upload_of(seen) for seen in committed.seen(is_part)]
    assert parts.count(first) == parts.count(second) > 1
    committed.check(tmp_path)


def test_a_single_put_of_ours_lands_during_the_upload(
    committed: Committed, noise: Path, tmp_path: Path
) -> None:
    theirs = mosaic_of(noise, tmp_path)

    def intervene(seen: Request) -> None:
        if is_complete(seen):
            committed.put_by_hand(
                committed.key, theirs, job_id=committed.job_id, write_id="other", digest="d"
            )

    committed.proxy.rule = intervene
    found = committed.assemble("run-1")
    assert (found.outcome, found.bytes, found.digest) == ("already-present", len(theirs), "d")
    assert len(committed.seen(is_abort)) == 1
    assert committed.place.uploads() == []
    assert len(committed.place.versions()[committed.key]) == 1


def test_a_foreign_put_lands_during_the_upload(committed: Committed) -> None:
    def intervene(seen: Request) -> None:
        if is_complete(seen):
            committed.put_by_hand(committed.key, b"foreign")

    committed.proxy.rule = intervene
    with pytest.raises(ForeignObject, match="did not write"):
        committed.assemble("run-1")
    assert committed.place.uploads() == []
    assert state_of(committed)["claim"] == "free"
    committed.proxy.clear()
    with pytest.raises(ForeignObject, match=r"mosaic\.tif.*did not write"):
        committed.assemble("run-2")
    assert committed.seen(is_create) == [], "a lost cause is not uploaded"
    assert len(committed.place.versions()[committed.key]) == 1


def test_a_failure_ends_its_upload_and_frees_the_claim(
    committed: Committed, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def fail(*arguments: object) -> None:
        raise PermanentStoreError("no permission")

    with monkeypatch.context() as patch:
        patch.setattr(Multipart, "_check_lengths", fail)
        with pytest.raises(PermanentStoreError, match="no permission"):
            committed.assemble("run-1")
    assert committed.place.uploads() == []
    assert state_of(committed)["claim"] == "free"
    assert committed.assemble("run-2").outcome == "written"
    committed.check(tmp_path)


def test_an_upload_ended_by_a_cleaner_is_begun_again(committed: Committed, tmp_path: Path) -> None:
    done: list[str] = []

    def rule(seen: Request) -> None:
        if is_part(seen) and not done:
            done.append(upload_of(seen))
            committed.end_by_hand(committed.key, done[0])

    committed.proxy.rule = rule
    assert committed.assemble("run-1").outcome == "written"
    assert len(committed.seen(is_create)) == 2
    committed.check(tmp_path)


@pytest.mark.parametrize("missing", ["item", "preview and item", "row"])
def test_what_a_killed_run_left_out_is_added_without_a_new_upload(
    committed: Committed, missing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed after the mosaic: the next run finds it standing."""
    committed.proxy.rule = lambda seen: (
        Fault.REFUSE_503
        if (missing == "row" and seen.operation == "PutItem" and committed.seen(is_complete))
        or (seen.method == "PUT" and seen.path.endswith("item.json"))
        or (missing != "item" and seen.method == "PUT" and seen.path.endswith("preview.png"))
        else None
    )
    impatient = RetryPolicy(attempts=2, base_s=0.01)
    with monkeypatch.context() as patch:
        patch.setattr(
            publish, "open_session", lambda spec: replace(open_session(spec), policy=impatient)
        )
        with pytest.raises(TransientStoreError):
            committed.assemble("run-1")
    committed.proxy.rule = lambda seen: None
    committed.proxy.clear()
    assert committed.assemble("run-2").outcome == "already-present"
    assert committed.seen(is_create) == []
    committed.check(tmp_path)


class Completion(Front):
    """Answers each first Complete in a way of its own."""

    def __init__(self, upstream: str, how: Callable[["Completion", Asked], Answered]) -> None:
        super().__init__(upstream)
        self.how, self.uploads = how, set[str]()

    def answer(self, asked: Asked) -> Answered:
        upload_id = asked.query.get("uploadId", "")
        if asked.method == "POST" and upload_id and not self.uploads:
            self.uploads.add(upload_id)
            return self.how(self, asked)
        return self.forward(asked)


def error(code: str, status: int = 200) -> Answered:
    body = f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>so</Message></Error>"
    return Answered(status, body.encode(), {"Content-Type": "application/xml"})


def landed_but(code: str, status: int = 200) -> Callable[[Completion, Asked], Answered]:
    def how(front: Completion, asked: Asked) -> Answered:
        assert front.forward(asked).status == 200
        return error(code, status)

    return how


def not_landed(code: str, status: int = 200) -> Callable[[Completion, Asked], Answered]:
    return lambda front, asked: error(code, status)


def replayed(front: Completion, asked: Asked) -> Answered:
    assert front.forward(asked).status == 200
    return front.forward(asked)


COMPLETIONS = {
    "200 InternalError, landed": landed_but("InternalError"),
    "200 InternalError, not landed": not_landed("InternalError"),
    "200 SlowDown, not landed": not_landed("SlowDown"),
    "200 ConditionalRequestConflict": not_landed("ConditionalRequestConflict"),
    "409 ConditionalRequestConflict": not_landed("ConditionalRequestConflict", 409),
    "404 NoSuchUpload to a replay": landed_but("NoSuchUpload", 404),
    "404 NoSuchUpload, never landed": not_landed("NoSuchUpload", 404),
    "412 to a replay": landed_but("PreconditionFailed", 412),
    "200 PreconditionFailed to a replay": landed_but("PreconditionFailed"),
    "200 to a replay": replayed,
}


@pytest.fixture
def completing(
    s3_place: MakePlace, noise: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., Committed]]:
    direct = s3_place()
    endpoint = direct.env["AWS_ENDPOINT_URL"]
    front = Completion(endpoint, replayed)
    monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", front.url)
    place = Place(direct.root, direct.manifest, {**direct.env, "DIRECT": endpoint})

    def make(how: Callable[[Completion, Asked], Answered]) -> Committed:
        front.how = how
        return Committed(place, commit_all(place, noise), None)  # type: ignore[arg-type]

    with front.running():
        yield make


@pytest.mark.parametrize("answer", COMPLETIONS)
def test_what_complete_answers(
    completing: Callable[..., Committed], answer: str, tmp_path: Path
) -> None:
    """Each of them ends with our mosaic, written once."""
    done = completing(COMPLETIONS[answer])
    assert done.assemble("run-1").outcome == "written"
    done.check(tmp_path)

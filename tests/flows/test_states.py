"""Final states are named by what happened; only what a person must repeat is Failed."""

import pytest
from prefect.client.schemas.objects import StateType

from flows.reports.scene import ProcessReport
from flows.reports.states import final_state
from scenemosaic import errors
from scenemosaic.job import MosaicResult


def mosaic(outcome: str) -> MosaicResult:
    return MosaicResult("file:///m.tif", outcome, "e", None, 9, "d" * 64, None, "i", "p")


def report(
    written: int, outcome: str | None, error: errors.SceneMosaicError | None = None
) -> ProcessReport:
    found = None if outcome is None else mosaic(outcome)
    return ProcessReport("a" * 32, 4, written, 4 - written, (), 1.0, found, error)


@pytest.mark.parametrize(
    ("given", "name", "kind", "code"),
    [
        (report(4, "written"), "Mosaicked", StateType.COMPLETED, 0),
        (report(0, "written"), "Mosaicked", StateType.COMPLETED, 0),
        (report(1, "already-present"), "Mosaicked", StateType.COMPLETED, 0),
        (report(0, "already-present"), "AlreadyMosaicked", StateType.COMPLETED, 0),
        (report(0, "superseded"), "Superseded", StateType.COMPLETED, 4),
        (report(1, None, errors.IncompleteError("x")), "Incomplete", StateType.FAILED, 3),
        (report(1, None, errors.SourceReadError("x")), "Incomplete", StateType.FAILED, 3),
        (report(1, None, errors.ForeignObject("x")), "ForeignObject", StateType.COMPLETED, 4),
        (report(1, None, errors.Diverged("x")), "Diverged", StateType.COMPLETED, 4),
        (report(1, None, errors.TransientStoreError("x")), "StoreFault", StateType.FAILED, 5),
        (report(1, None, errors.PermanentStoreError("x")), "StoreFault", StateType.FAILED, 5),
        (report(0, None, errors.InputError("x")), "BadInput", StateType.FAILED, 2),
    ],
)
def test_state(given: ProcessReport, name: str, kind: StateType, code: int) -> None:
    state = final_state(given)
    assert (state.name, state.type, given.exit_code) == (name, kind, code)


def test_json_holds_the_contract_and_the_counters() -> None:
    value = report(4, "written").to_json()
    assert list(value) == [
        "job_id", "windows", "written", "already_present", "missing",
        "mosaic", "item", "preview", "seconds", "counters",
    ]  # fmt: skip
    assert isinstance(value["mosaic"], dict)
    assert list(value["mosaic"]) == [
        "uri", "outcome", "etag", "version_id", "bytes", "digest", "sha256"
    ]  # fmt: skip


def test_json_of_a_failure_says_error_and_exit_code_as_well() -> None:
    value = report(1, None, errors.IncompleteError("a gap")).to_json()
    assert value["error"] == {"kind": "incomplete", "message": "a gap"}
    assert value["exit_code"] == 3
    assert value["mosaic"] is None

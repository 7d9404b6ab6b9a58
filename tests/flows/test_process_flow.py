"""The flow inside a test API: named states, counts, retries by the error's class alone."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import ArtifactFilter, ArtifactFilterKey
from prefect.client.schemas.objects import State

from blocks.mosaic_recipe import RecipeFields
from flows.process import process_scene
from flows.reports.scene import ProcessReport
from flows.scenes import run as scene_run
from scenemosaic import job, keys
from scenemosaic.auditing import audit
from scenemosaic.committing.metrics import REFUSALS
from scenemosaic.errors import PermanentStoreError, SceneMosaicError, TransientStoreError
from scenemosaic.job import BatchResult, JobSpec
from tests.flows.scenes import BLOCK, WINDOW, make_scene, spoil_block

pytestmark = pytest.mark.usefixtures("harness", "no_pauses")
RECIPE = RecipeFields(window=WINDOW, block_size=BLOCK)
OPTIONS = RECIPE.options()
WINDOWS = 12


@pytest.fixture
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Task retries follow at once."""
    quick = scene_run.commit_windows.with_options(retry_delay_seconds=0, retry_jitter_factor=0)
    monkeypatch.setattr(scene_run, "commit_windows", quick)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "root"


def run(
    scene: Path, root: Path, per_task: int = 2, workers: int = 2, manifest: str | None = None
) -> "State[ProcessReport]":
    return process_scene(
        [str(scene)],
        str(root),
        manifest,
        recipe=RECIPE,
        workers=workers,
        windows_per_task=per_task,
        return_state=True,
    )


def report_of(state: "State[ProcessReport]") -> ProcessReport:
    value = state.result(raise_on_failure=False)
    assert isinstance(value, ProcessReport)
    return value


def spec_of(scene: Path, root: Path) -> JobSpec:
    return job.plan_job([str(scene)], str(root), None, OPTIONS)


Batch = Callable[..., BatchResult]


@pytest.fixture
def faulty(
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Callable[[SceneMosaicError, int], list[Any]]]:
    """``faulty(error, times)``: the engine raises after a batch's first window, ``times`` times."""
    real: Batch = job.commit_windows
    calls: list[Any] = []  # what the engine was really asked for
    lock = threading.Lock()

    def plant(error: SceneMosaicError, times: int) -> list[Any]:
        left = [times]

        def commit(spec: JobSpec, numbers: Any, *rest: Any) -> BatchResult:
            with lock:
                left[0] -= 1
                fails = left[0] >= 0
                asked = numbers[:1] if fails else numbers
                calls.append(tuple(asked))
            result = real(spec, asked, *rest)
            if fails:
                raise error
            return result

        monkeypatch.setattr(job, "commit_windows", commit)
        return calls

    return plant


def test_a_scene_becomes_a_mosaic_and_the_second_run_finds_it(scene: Path, root: Path) -> None:
    first = run(scene, root)
    assert first.name == "Mosaicked"
    found = report_of(first)
    assert (found.windows, found.written, found.already_present) == (WINDOWS, WINDOWS, 0)
    assert found.mosaic is not None
    assert found.mosaic.outcome == "written"
    assert (root / keys.mosaic_key(found.job_id)).is_file()
    second = run(scene, root)
    assert second.name == "AlreadyMosaicked"
    again = report_of(second)
    assert (again.written, again.already_present, again.missing) == (0, WINDOWS, ())
    assert again.mosaic is not None
    assert again.mosaic.etag == found.mosaic.etag


def test_only_what_is_missing_is_done(scene: Path, root: Path, faulty: Any) -> None:
    spec = spec_of(scene, root)
    job.prepare(spec)
    job.publish_plan(spec, job.Run("other", "other"))
    job.commit_windows(spec, range(5), job.Run("other", "other"))
    calls = faulty(TransientStoreError("never raised"), 0)
    found = report_of(run(scene, root))
    assert sorted(number for call in calls for number in call) == list(range(5, WINDOWS))
    assert (found.written, found.already_present) == (WINDOWS - 5, 5)


def test_rows_name_the_flow_run(scene: Path, root: Path) -> None:
    state = run(scene, root)
    spec = spec_of(scene, root)
    store = job.open_session(spec).store
    info = store.head(keys.tile_key(spec.plan.job_id, "0000_0000"))
    assert info is not None
    assert info.metadata["write_id"] == f"{state.state_details.flow_run_id}/0000_0000"


def test_a_transient_fault_is_tried_again_and_counts_stay_right(
    scene: Path, root: Path, faulty: Any
) -> None:
    calls = faulty(TransientStoreError("connection reset"), 3)
    state = run(scene, root)
    found = report_of(state)
    assert state.name == "Mosaicked"
    assert (found.written, found.already_present) == (WINDOWS, 0)
    assert len(calls) == WINDOWS // 2 + 3
    # A retry asks the manifest: what its first try committed is not done again.
    assert sorted(number for call in calls for number in call) == list(range(WINDOWS))


def test_a_transient_fault_that_outlasts_its_retries_is_a_store_fault(
    scene: Path, root: Path, faulty: Any
) -> None:
    faulty(TransientStoreError("connection reset"), 10**6)
    state = run(scene, root)
    found = report_of(state)
    assert (state.name, state.is_failed(), found.exit_code) == ("StoreFault", True, 5)
    assert found.written + found.already_present + len(found.missing) == WINDOWS
    assert found.mosaic is None


def test_a_permanent_fault_is_not_tried_again_and_stops_the_others(
    scene: Path, root: Path, faulty: Any
) -> None:
    calls = faulty(PermanentStoreError("PutObject: AccessDenied"), 10**6)
    state = run(scene, root, per_task=1, workers=1)
    assert state.name == "StoreFault"
    assert len(calls) < WINDOWS
    assert len(calls) == len(set(calls))


def test_a_window_that_does_not_decode_leaves_the_others(scene: Path, root: Path) -> None:
    spoil_block(scene, 0, 2)
    state = run(scene, root)
    found = report_of(state)
    assert (state.name, state.is_failed(), found.exit_code) == ("Incomplete", True, 3)
    assert found.missing == ("0000_0001",)
    assert (found.written, found.already_present) == (WINDOWS - 1, 0)
    assert "0000_0001" in str(found.error)
    assert not (root / keys.mosaic_key(found.job_id)).exists()


def test_a_foreign_object_is_a_conflict_and_stays(scene: Path, root: Path) -> None:
    spec = spec_of(scene, root)
    tile = root / keys.tile_key(spec.plan.job_id, "0001_0001")
    tile.parent.mkdir(parents=True)
    tile.write_bytes(b"somebody else's")
    state = run(scene, root)
    found = report_of(state)
    assert (state.name, state.is_completed(), found.exit_code) == ("ForeignObject", True, 4)
    assert tile.read_bytes() == b"somebody else's"
    assert found.mosaic is None


def test_bad_input_is_a_failed_state_with_its_reason(tmp_path: Path, root: Path) -> None:
    state = run(tmp_path / "absent.tif", root)
    assert (state.name, state.is_failed()) == ("BadInput", True)
    assert "absent.tif" in str(state.message)
    assert not root.exists()


def test_runs_at_once_write_each_window_once(tmp_path: Path, root: Path) -> None:
    scene = make_scene(tmp_path / "other.tif", seed=2)
    states: list[State[ProcessReport]] = []
    threads = [threading.Thread(target=lambda: states.append(run(scene, root))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    reports = [report_of(state) for state in states]
    assert {state.name for state in states} <= {"Mosaicked", "AlreadyMosaicked"}
    assert sum(found.written for found in reports) == WINDOWS
    assert all(found.written + found.already_present == WINDOWS for found in reports)
    assert [found.mosaic.outcome for found in reports if found.mosaic].count("written") == 1


def test_a_run_leaves_its_table(scene: Path, root: Path) -> None:
    state = run(scene, root)
    key = f"outcomes-{report_of(state).job_id}"
    with get_client(sync_client=True) as client:
        found = client.read_artifacts(
            artifact_filter=ArtifactFilter(key=ArtifactFilterKey(any_=[key]))
        )
    (mine,) = [one for one in found if one.flow_run_id == state.state_details.flow_run_id]
    assert str(WINDOWS) in str(mine.data)


def test_every_object_is_counted_and_the_loser_is_in_the_audit_log(
    scene: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = report_of(run(scene, root))
    assert first.totals["written"] == WINDOWS
    assert first.totals["objects_written"] == len(("plan", "mosaic", "preview", "item"))
    assert first.totals[REFUSALS] == 0
    (root / keys.item_key(first.job_id)).unlink()
    monkeypatch.setenv("SCENEMOSAIC_OPERATOR", "bob")
    # Another manifest knows of no tile, so that the second run meets every one of them.
    second = report_of(run(scene, root, manifest=f"sqlite:///{root}/other.db"))
    totals = second.totals
    assert (totals["written"], totals["already_present"]) == (0, WINDOWS)
    assert totals["objects_already_present"] == 2, "plan and preview: the mosaic is looked at"
    assert totals["objects_written"] == 1, "the item"
    assert totals[REFUSALS] == WINDOWS + 2
    entries = list(audit.read(job.open_session(spec_of(scene, root)), first.job_id))
    assert len(entries) == totals[REFUSALS]
    assert {entry.operator for entry in entries} == {"bob"}


def test_a_log_at_fault_is_a_store_fault_of_the_run_and_of_no_window(
    scene: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = report_of(run(scene, root))
    (root / keys.item_key(first.job_id)).unlink()

    def broken(*_: Any, **__: Any) -> None:
        raise TransientStoreError("audit: 503")

    with monkeypatch.context() as patch:
        patch.setattr(audit, "append", broken)
        state = run(scene, root, manifest=f"sqlite:///{root}/other.db")
    found = report_of(state)
    assert (state.name, found.exit_code) == ("StoreFault", 5)
    assert (found.already_present, found.missing) == (WINDOWS, ())
    assert found.mosaic is not None
    assert report_of(run(scene, root)).exit_code == 0

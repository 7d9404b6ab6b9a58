"""The gate on a local root: of many assemblers one works, and small mosaics need no claim."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from scenemosaic import job, keys
from scenemosaic.claiming.claims import State
from scenemosaic.errors import PermanentStoreError
from scenemosaic.publishing import publish
from scenemosaic.session import open_session
from tests.jobs.assembling import commit_all
from tests.jobs.conftest import local_place, scene
from tests.jobs.places import MakePlace

__all__ = ["local_place", "scene"]

MANY = 8


@pytest.fixture
def spec(local_place: MakePlace, scene: Path) -> job.JobSpec:
    place = local_place()
    return job.load_job(commit_all(place, scene), place.root, place.manifest)


@pytest.fixture
def works(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The runs that do the work, in order."""
    worked: list[str] = []
    real: Callable[..., object] = publish.place_mosaic

    def work(session: object, spec: object, run: job.Run, *more: object) -> object:
        worked.append(run.run_id)
        return real(session, spec, run, *more)

    monkeypatch.setattr(publish, "place_mosaic", work)
    return worked


def claim_state(spec: job.JobSpec) -> State | None:
    session = open_session(spec)
    claim = session.claims().look(publish.claim_name(session, spec))
    return claim.state if claim else None


def at_once(spec: job.JobSpec) -> list[str]:
    with ThreadPoolExecutor(MANY) as pool:
        runs = [job.Run(f"run-{number}", "w") for number in range(MANY)]
        return sorted(
            found.outcome for found in pool.map(lambda run: job.assemble(spec, run), runs)
        )


EXPECTED = ["already-present"] * (MANY - 1) + ["written"]


def test_of_many_one_works(
    spec: job.JobSpec, works: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publish, "CLAIM_FROM_BYTES", 0)
    assert at_once(spec) == EXPECTED
    assert len(works) == 1
    assert claim_state(spec) is State.DONE


def test_a_small_mosaic_takes_no_claim_and_is_written_once(
    spec: job.JobSpec, works: list[str]
) -> None:
    assert at_once(spec) == EXPECTED
    assert claim_state(spec) is None
    works.clear()
    assert job.assemble(spec, job.Run("later", "w")).outcome == "already-present"
    assert works == []


def test_a_runs_own_retry_knows_its_mosaic(spec: job.JobSpec) -> None:
    run = job.Run("run-1", "w")
    assert [job.assemble(spec, run).outcome for _ in range(2)] == ["written", "written"]


def test_a_failure_frees_the_claim(
    spec: job.JobSpec, works: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publish, "CLAIM_FROM_BYTES", 0)

    def fail(*arguments: object) -> None:
        raise PermanentStoreError("disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(publish, "put_small", fail)
        with pytest.raises(PermanentStoreError, match="disk is full"):
            job.assemble(spec, job.Run("run-1", "w"))
    assert claim_state(spec) is State.FREE
    assert job.assemble(spec, job.Run("run-2", "w")).outcome == "already-present"
    assert works == ["run-1", "run-2"]
    mosaic = open_session(spec).store.head(keys.mosaic_key(spec.plan.job_id))
    assert mosaic is not None
    assert mosaic.metadata["write_id"] == "run-1/mosaic"

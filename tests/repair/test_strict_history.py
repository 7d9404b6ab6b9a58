"""``--strict-history`` in a repair: where something was deleted, a person looks first."""

from typing import Any

import pytest

from flows.repair import repair_scene
from scenemosaic.verification.verify import verify
from tests.jobs.places import MakePlace, client
from tests.repair.made import Made, make
from tests.repair.test_commands import command

GONE, DAMAGED = "0001_0001", "0002_0002"


@pytest.fixture
def made(s3_place: MakePlace, small_scene: Any, monkeypatch: pytest.MonkeyPatch) -> Made:
    """Its bucket keeps versions; one of its tiles was deleted."""
    place = s3_place()
    for name, value in place.env.items():
        monkeypatch.setenv(name, value)
    job = make(place, small_scene)
    job.delete(job.tile_key(GONE))
    return job


def everything(made: Made) -> set[tuple[str, str, bool]]:
    """Every version and marker in the bucket, the audit log's, too."""
    bucket = made.place.root.removeprefix("s3://").partition("/")[0]
    pages = client(made.place, "s3").get_paginator("list_object_versions").paginate(Bucket=bucket)
    return {
        (one["Key"], one["VersionId"], kind == "DeleteMarkers")
        for page in pages
        for kind in ("Versions", "DeleteMarkers")
        for one in page.get(kind, [])
    }


def test_the_command_refuses_and_writes_nothing(made: Made) -> None:
    before, row = everything(made), made.row(GONE)
    source = ("--source", str(made.scene))
    answer = command(
        made, "repair", *source, "--strict-history", "--json", env=dict(made.place.env)
    )
    value = answer.value()
    assert (answer.code, value["exit_code"], value["error"]["kind"]) == (4, 4, "key-has-history")
    for part in ("--strict-history", made.tile_key(GONE), "delete marker", "who deleted it"):
        assert part in value["error"]["message"]
        assert part in answer.err
    assert (value["windows"], value["mosaic"]) == ([], None)
    assert everything(made) == before
    assert made.row(GONE) == row
    loose = command(made, "repair", *source, env=dict(made.place.env))
    assert loose.code == 0, loose.err
    assert verify(made.spec).findings == ()


@pytest.mark.usefixtures("harness")
def test_the_flow_refuses_and_what_was_never_deleted_is_repaired(made: Made) -> None:
    def run(*windows: str) -> Any:
        return repair_scene(
            made.job_id,
            made.spec.root,
            made.spec.manifest,
            windows=list(windows) or None,
            sources=[str(made.scene)],
            workers=1,
            strict_history=True,
            return_state=True,
        )

    before = everything(made)
    state = run()
    assert (state.is_completed(), state.name) == (True, "KeyHasHistory")
    assert "strict_history" in str(state.message)
    assert state.result(raise_on_failure=False).exit_code == 4
    assert everything(made) == before
    made.damage(made.tile_key(DAMAGED))
    assert run(DAMAGED).result(raise_on_failure=False).count("written") == 1

"""The flow ``verify-scene``: named states, its table and its gap map as artifacts."""

import base64
from pathlib import Path
from typing import Any

import imagecodecs
import pytest
from prefect import flow
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import ArtifactFilter, ArtifactFilterKey
from prefect.client.schemas.objects import State

from flows.shown.gap_artifact import show_gap_map
from flows.verify import verify_scene
from scenemosaic.grids.grid import window_name
from scenemosaic.verification.report import VerifyReport
from tests.verification.damage import NAME, Damage

pytestmark = pytest.mark.usefixtures("harness")


def _verify(damage: Damage, **more: Any) -> "State[VerifyReport]":
    place = damage.place
    return verify_scene(damage.job_id, place.root, place.manifest, **more, return_state=True)


def _artifacts(key: str) -> list[Any]:
    with get_client(sync_client=True) as client:
        chosen = ArtifactFilter(key=ArtifactFilterKey(any_=[key]))
        return client.read_artifacts(artifact_filter=chosen)


def _maps(damage: Damage) -> list[list[str]]:
    """The lines of every map of the job: the tests' jobs are the same one."""
    return [one.data.splitlines()[1:4] for one in _artifacts(f"gap-map-{damage.job_id}")]


def _report(state: "State[VerifyReport]") -> VerifyReport:
    value = state.result(raise_on_failure=False)
    assert isinstance(value, VerifyReport)
    return value


def test_a_sound_job(local_damage: Damage) -> None:
    state = _verify(local_damage, deep=True)
    assert (state.name, state.is_completed()) == ("Verified", True)
    assert _report(state).is_sound
    assert ["🟩🟩🟩"] * 3 in _maps(local_damage)


def test_a_damaged_job(local_damage: Damage) -> None:
    local_damage.delete(local_damage.tile())
    local_damage.flip(local_damage.tile("0000_0002"), -20)
    state = _verify(local_damage)
    assert (state.name, state.is_failed()) == ("VerificationFailed", True)
    assert "4 findings (blocks, checksum, metadata, missing-object)" in str(state.message)
    assert ["🟩🟩🟧", "🟩🟥🟩", "🟩🟩🟩"] in _maps(local_damage)
    tables = _artifacts(f"findings-{local_damage.job_id}")
    assert any(f'"subject": "{NAME}", "kind": "missing-object"' in one.data for one in tables)


def test_an_unknown_job(local_damage: Damage) -> None:
    place = local_damage.place
    state = verify_scene("ab" * 16, place.root, place.manifest, return_state=True)
    assert (state.name, state.is_failed()) == ("BadInput", True)


def test_a_large_map_is_an_image(tmp_path: Path) -> None:
    states = {window_name(row, 0): "sound" for row in range(50)}

    @flow
    def show() -> None:
        show_gap_map("large", states)

    show()
    (artifact,) = _artifacts("gap-map-large")
    kind, _, data = artifact.data.partition(",")
    assert kind == "data:image/png;base64"
    assert imagecodecs.png_decode(base64.b64decode(data)).shape == (600, 12, 3)

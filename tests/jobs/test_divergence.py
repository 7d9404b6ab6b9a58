"""Scenario 11: two different bodies for one tile; the loser compares, and says what it found."""

import dataclasses
import hashlib
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from scenemosaic import job, keys, windows
from scenemosaic.errors import ConflictError, Diverged, ForeignObject
from scenemosaic.manifests.port import Row
from scenemosaic.planning import PlanOptions
from scenemosaic.session import JobSpec, Run, open_session
from scenemosaic.stores.port import Answer, Body, IfAbsent
from scenemosaic.tile import EncodedTile, encode_tile
from tests.flows.serving import run_command
from tests.jobs.places import MakePlace
from tests.otherwise import encode_otherwise

WINDOW = 512
NUMBER = 4  # the middle one of nine
ME, OTHER = Run("me", "me"), Run("other", "other")
Planned = Callable[[], JobSpec]


@pytest.fixture
def planned(make_place: MakePlace, scene: Path, monkeypatch: pytest.MonkeyPatch) -> Planned:
    def plan() -> JobSpec:
        place = make_place()
        for name, value in place.env.items():
            monkeypatch.setenv(name, value)
        spec = job.plan_job([str(scene)], place.root, place.manifest, PlanOptions(window=WINDOW))
        job.prepare(spec)
        return spec

    return plan


def _as_usual(
    pixels: Any, mask: Any, window: Any, recipe: Any, template: Any, box: Any
) -> EncodedTile:
    return encode_tile(pixels, mask, window, recipe, template, box)


def _other_pixels(
    pixels: Any, mask: Any, window: Any, recipe: Any, template: Any, box: Any
) -> EncodedTile:
    changed = pixels.copy()
    changed[0, 100, 100] += 1
    return encode_tile(changed, mask, window, recipe, template, box)


def _other_size(
    pixels: Any, mask: Any, window: Any, recipe: Any, template: Any, box: Any
) -> EncodedTile:
    box = (slice(None), slice(0, 64), slice(0, 64))
    small = dataclasses.replace(window, y1=window.y0 + 64, x1=window.x0 + 64)
    return encode_tile(pixels[box].copy(), None, small, recipe, template)


def _tile(spec: JobSpec, encode: Callable[..., EncodedTile]) -> EncodedTile:
    with mock.patch.object(windows, "encode_tile", encode):
        return windows.make_tile(spec, _window(spec))


def _window(spec: JobSpec) -> Any:
    return spec.plan.recipe.tiling().window(NUMBER)


def _plant(spec: JobSpec, tile: EncodedTile, sha256: str | None = None) -> None:
    """What another run stored before it died: the tile without its row."""
    session = open_session(spec)
    metadata = session.metadata(spec, OTHER, _window(spec).name, sha256=sha256 or tile.sha256)
    body = Body(tile.data, tile.sha256, keys.TIFF_CONTENT_TYPE, metadata)
    assert session.store.put(_key(spec), body, IfAbsent()).answer is Answer.WRITTEN


def _key(spec: JobSpec) -> str:
    return keys.tile_key(spec.plan.job_id, _window(spec).name)


def _row(spec: JobSpec) -> Row | None:
    session = open_session(spec)
    return session.manifest.get(session.partition(spec), _window(spec).name)


def test_the_same_bytes_are_adopted_without_a_word(
    planned: Planned, caplog: pytest.LogCaptureFixture
) -> None:
    spec = planned()
    _plant(spec, _tile(spec, _as_usual))
    with caplog.at_level(logging.WARNING, "scenemosaic"):
        batch = job.commit_windows(spec, [NUMBER], ME)
    assert (batch.counters["already_present"], batch.counters["diverged"]) == (1, 0)
    assert caplog.messages == []


@pytest.mark.parametrize("by", [OTHER, ME], ids=["another-run", "a-task-retried-elsewhere"])
def test_other_bytes_of_the_same_pixels_are_a_warning_and_the_row_describes_what_is_stored(
    planned: Planned, by: Run, caplog: pytest.LogCaptureFixture
) -> None:
    spec = planned()
    ours, theirs = _tile(spec, _as_usual), _tile(spec, encode_otherwise)
    with mock.patch(f"{__name__}.OTHER", by):
        _plant(spec, theirs)
    with caplog.at_level(logging.WARNING, "scenemosaic"):
        batch = job.commit_windows(spec, [NUMBER], ME)
    (said,) = caplog.messages
    assert ours.sha256 in said
    assert theirs.sha256 in said
    assert _key(spec) in said
    assert batch.counters["diverged"] == 1
    outcome = "written" if by is ME else "already-present"
    assert batch.outcomes[0].outcome == outcome
    assert batch.counters[outcome.replace("-", "_")] == 1
    _row_describes(spec, theirs)
    job.commit_windows(spec, job.missing_windows(spec), ME)
    assert job.assemble(spec, ME).outcome == "written"


def _row_describes(spec: JobSpec, tile: EncodedTile) -> None:
    row, stored = _row(spec), open_session(spec).store.head(_key(spec))
    assert row is not None
    assert stored is not None
    assert (row.sha256, row.crc, row.blocks) == (tile.sha256, tile.crc, tile.blocks)
    assert (row.bytes, row.etag) == (len(tile.data), stored.etag)
    assert row.version_id == stored.version_id
    data = open_session(spec).store.get(_key(spec))
    assert hashlib.sha256(data).hexdigest() == row.sha256


def test_other_pixels_are_a_conflict_and_the_stored_tile_is_kept(planned: Planned) -> None:
    spec = planned()
    ours, theirs = _tile(spec, _as_usual), _tile(spec, _other_pixels)
    _plant(spec, theirs)
    with pytest.raises(Diverged, match=f"{theirs.sha256}.*{ours.sha256}") as caught:
        job.commit_windows(spec, [NUMBER], ME)
    assert (caught.value.exit_code, caught.value.retryable) == (4, False)
    assert _key(spec) in str(caught.value)
    assert open_session(spec).store.get(_key(spec)) == theirs.data
    assert _row(spec) is None


@pytest.mark.parametrize("encode", [encode_otherwise, _other_pixels, _as_usual])
def test_an_object_that_lies_about_its_checksum_is_foreign(
    planned: Planned, encode: Callable[..., EncodedTile]
) -> None:
    spec = planned()
    _refused(spec, _tile(spec, encode), "ab" * 32)


def test_an_object_that_bears_our_checksum_and_another_length_is_foreign(planned: Planned) -> None:
    spec = planned()
    _refused(spec, _tile(spec, encode_otherwise), _tile(spec, _as_usual).sha256)


def test_a_tile_of_another_shape_is_a_conflict(planned: Planned) -> None:
    spec = planned()
    _refused(spec, _tile(spec, _other_size), None, Diverged)


@pytest.mark.parametrize("data", [b"", b"II*\0", b"no TIFF at all" * 99])
def test_what_is_no_tiff_is_foreign(planned: Planned, data: bytes) -> None:
    spec = planned()
    _refused(spec, EncodedTile(data, hashlib.sha256(data).hexdigest(), (), (), (), 0), None)


def _refused(
    spec: JobSpec,
    tile: EncodedTile,
    sha256: str | None,
    error: type[ConflictError] = ForeignObject,
) -> None:
    _plant(spec, tile, sha256)
    with pytest.raises(error, match=_key(spec)) as caught:
        job.commit_windows(spec, [NUMBER], ME)
    assert caught.value.exit_code == 4
    assert open_session(spec).store.get(_key(spec)) == tile.data
    assert _row(spec) is None


@pytest.mark.slow
@pytest.mark.parametrize("make_place", ["local"], indirect=True)  # the engine's tests: on both
@pytest.mark.parametrize(("encode", "code"), [(encode_otherwise, 0), (_other_pixels, 4)])
def test_the_command_line_says_so_too(
    planned: Planned,
    scene: Path,
    tmp_path: Path,
    prefect_server: str,
    encode: Callable[..., EncodedTile],
    code: int,
) -> None:
    spec = planned()
    theirs = _tile(spec, encode)
    _plant(spec, theirs)
    answer = run_command(
        ["process", str(scene), "--to", spec.root, "--manifest", spec.manifest,
         "--window", str(WINDOW), "--json"],
        tmp_path,
        {"PREFECT_API_URL": prefect_server},
    )  # fmt: skip
    assert answer.code == code, answer.err
    value = answer.value()
    if code == 0:
        assert value["written"] + value["already_present"] == value["windows"] == 9
        assert value["already_present"] == 1
    else:
        assert theirs.sha256 in answer.err
        assert "Traceback" not in answer.err
    assert open_session(spec).store.get(_key(spec)) == theirs.data

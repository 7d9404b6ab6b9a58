"""The demo's scene: whole under its name, or not there."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from flows.cli import cli
from flows.verbs.demo_scene import make_scene
from scenemosaic.errors import StoreError
from tests.limits import file_size_limit

SIZE_PX = 512
PIXEL_BYTES = SIZE_PX * SIZE_PX * 3 * 2
WHY = "rite failed|beyond|without an image|File too large"


def silent(done: int, total: int) -> None:
    """Nobody watches."""


# The last: all but what GDAL writes as it closes the file, when it tells nobody any more.
@pytest.mark.parametrize("room_bytes", [100, PIXEL_BYTES // 3, PIXEL_BYTES])
def test_a_scene_that_does_not_fit_is_not_there(tmp_path: Path, room_bytes: int) -> None:
    scene = tmp_path / "scene.tif"
    with file_size_limit(room_bytes), pytest.raises(OSError, match=WHY):
        make_scene(scene, SIZE_PX, silent)
    assert list(tmp_path.iterdir()) == []
    assert make_scene(scene, SIZE_PX, silent)
    assert scene.stat().st_size > PIXEL_BYTES
    assert not make_scene(scene, SIZE_PX, silent)


def test_the_command_says_what_to_do(tmp_path: Path) -> None:
    given = ["demo", "--to", str(tmp_path), "--size", str(SIZE_PX)]
    with file_size_limit(PIXEL_BYTES // 3):
        caught = CliRunner().invoke(cli, given).exception
    assert isinstance(caught, StoreError)
    assert all(word in str(caught) for word in ("scene-512.tif", "free some space", "--to"))


def test_two_that_make_it_at_once_do_not_share_a_file(tmp_path: Path) -> None:
    scene = tmp_path / "scene.tif"
    inner: list[bool] = []

    def another(done: int, total: int) -> None:
        if not inner:
            inner.append(True)
            make_scene(scene, SIZE_PX, silent)
            inner.append(scene.stat().st_size > PIXEL_BYTES)

    assert make_scene(scene, SIZE_PX, another)
    assert inner == [True, True]
    assert scene.stat().st_size > PIXEL_BYTES

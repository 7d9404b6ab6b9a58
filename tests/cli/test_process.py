"""``process`` and ``demo`` as people run them: with a server, without one, many at once."""

from pathlib import Path

import pytest
import rasterio

from flows.verbs.demo_scene import strips
from scenemosaic import keys
from tests.flows.scenes import BLOCK, WINDOW, make_scene, spoil_block
from tests.flows.serving import finish, flow_runs, fork_command, run_command

pytestmark = pytest.mark.slow
WINDOWS = 12
SIZES = ["--window", str(WINDOW), "--block-size", str(BLOCK)]
AT_ONCE = 2


def arguments(scene: Path, root: Path, *more: str) -> list[str]:
    return ["process", str(scene), "--to", str(root), *SIZES, *more]


def test_json_is_one_object_with_the_contracts_keys(
    scene: Path, tmp_path: Path, prefect_server: str
) -> None:
    answer = run_command(
        arguments(scene, tmp_path / "root", "--json"), tmp_path, {"PREFECT_API_URL": prefect_server}
    )
    assert answer.code == 0, answer.err
    value = answer.value()
    assert set(value) == {
        "job_id", "windows", "written", "already_present", "missing",
        "mosaic", "item", "preview", "seconds", "counters",
    }  # fmt: skip
    assert set(value["mosaic"]) == {
        "uri", "outcome", "etag", "version_id", "bytes", "digest", "sha256"
    }  # fmt: skip
    assert (value["windows"], value["written"], value["missing"]) == (WINDOWS, WINDOWS, [])
    mosaic = tmp_path / "root" / keys.mosaic_key(value["job_id"])
    assert value["mosaic"]["uri"] == mosaic.as_uri()
    assert value["mosaic"]["bytes"] == mosaic.stat().st_size
    with rasterio.open(scene) as source, rasterio.open(mosaic) as made:
        assert (source.read() == made.read()).all()


def test_people_are_told_where_things_are_and_how_long_it_took(
    scene: Path, tmp_path: Path, prefect_server: str
) -> None:
    answer = run_command(
        arguments(scene, tmp_path / "root"), tmp_path, {"PREFECT_API_URL": prefect_server}
    )
    assert answer.code == 0
    for name in ("mosaic.tif", "preview.png", "item.json", "12 written, 0 already there"):
        assert name in answer.out
    assert "windows " in answer.out.splitlines()[-1]
    assert "assembly " in answer.out.splitlines()[-1]
    assert "100% 12 of 12 windows" in answer.err
    for noise in ("Flow run", "Task run", "INFO", "\x1b", "Traceback", "temporary server"):
        assert noise not in answer.err


def test_incomplete_is_exit_3_with_everything_else_committed(
    scene: Path, tmp_path: Path, prefect_server: str
) -> None:
    spoil_block(scene, 0, 2)
    answer = run_command(
        arguments(scene, tmp_path / "root", "--json"), tmp_path, {"PREFECT_API_URL": prefect_server}
    )
    value = answer.value()
    assert (answer.code, value["exit_code"], value["missing"]) == (3, 3, ["0000_0001"])
    assert (value["written"], value["mosaic"]) == (WINDOWS - 1, None)
    assert answer.err.splitlines()[-1].startswith("scenemosaic: 1 of 12 windows is missing")
    assert "Traceback" not in answer.err


def test_a_configured_server_records_the_second_run_too(
    scene: Path, tmp_path: Path, prefect_server: str
) -> None:
    other = make_scene(tmp_path / "two.tif", seed=7)
    for _ in range(2):
        answer = run_command(
            arguments(other, tmp_path / "root"), tmp_path, {"PREFECT_API_URL": prefect_server}
        )
        assert answer.code == 0
    flows = flow_runs(prefect_server, tmp_path / "root")
    assert [flow["state_name"] for flow in flows] == ["Mosaicked", "AlreadyMosaicked"]


def test_a_server_that_is_down_is_exit_5(scene: Path, tmp_path: Path) -> None:
    url = {"PREFECT_API_URL": "http://127.0.0.1:9/api"}
    answer = run_command(arguments(scene, tmp_path / "root"), tmp_path, url)
    assert answer.code == 5
    assert "does not answer" in answer.err.splitlines()[-1]
    assert "Traceback" not in answer.err


def test_two_at_once_without_a_server(scene: Path, tmp_path: Path) -> None:
    """Each has a temporary server of its own; they share one PREFECT_HOME and one root."""
    extra = {
        "PREFECT_HOME": str(tmp_path / "home"),
        "TMPDIR": str(tmp_path),
        "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "270",
    }
    given = arguments(scene, tmp_path / "root", "--json")
    running = [fork_command(given, tmp_path, extra) for _ in range(AT_ONCE)]
    answers = [finish(process) for process in running]
    assert [answer.code for answer in answers] == [0] * AT_ONCE, [one.err for one in answers]
    values = [answer.value() for answer in answers]
    assert sum(value["written"] for value in values) == WINDOWS
    assert all(value["written"] + value["already_present"] == WINDOWS for value in values)
    outcomes = [value["mosaic"]["outcome"] for value in values]
    assert sorted(outcomes) == ["already-present"] * (AT_ONCE - 1) + ["written"]
    for answer in answers:
        assert "locked" not in answer.err
        assert "Traceback" not in answer.err
    assert list(tmp_path.glob("scenemosaic-prefect-*")) == []

    again = run_command(given, tmp_path, extra)
    assert again.value()["already_present"] == WINDOWS
    # Nobody would ever read what a temporary server recorded.
    assert "temporary server" not in again.err


def test_demo_twice(tmp_path: Path) -> None:
    given = ["demo", "--to", "here", "--size", "600"]
    first = run_command(given, tmp_path)
    assert first.code == 0, first.err
    assert "temporary server" in first.err
    second = run_command([*given, "--json"], tmp_path)
    value = second.value()
    assert (value["written"], value["already_present"]) == (0, value["windows"])
    assert "was there already" in second.err
    assert (tmp_path / "here" / keys.preview_key(value["job_id"])).is_file()
    with rasterio.open(tmp_path / "here" / "scene-600.tif") as scene:
        assert (scene.count, scene.dtypes[0], scene.width, scene.nodata) == (3, "uint16", 600, 0)
        row, strip = next(strips(600))
        assert (scene.read()[:, : strip.shape[1]] == strip).all()
        assert (row, scene.read(1)[0, 0]) == (0, 0)

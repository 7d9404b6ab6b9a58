"""An address at which nobody answers is bad input: known before anything is written."""

import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from blocks.mosaic_recipe import RecipeFields
from flows import cli
from flows.backfill import backfill_scenes
from flows.engines.engine import Engine, EngineName
from flows.engines.reaching import NobodyAnswers, check_answers
from flows.forms.scene_selection import SceneSelection
from flows.process import process_scene
from flows.repair import repair_scene
from scenemosaic import job
from tests.flows.scenes import BLOCK, WINDOW
from tests.flows.serving import objects

RECIPE = RecipeFields(window=WINDOW, block_size=BLOCK)
DEAD = "tcp://127.0.0.1:9"
ENGINE: Any = {"engine": "dask", "engine_address": DEAD}
OPTIONS = ["--engine", "dask", "--engine-address", DEAD]
SAID = f"the dask cluster at {DEAD} does not answer: Connection refused; "


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as made:
        yield made


def address_of(listener: socket.socket, scheme: str) -> str:
    return f"{scheme}://127.0.0.1:{listener.getsockname()[1]}"


@pytest.mark.parametrize("command", ["process", "backfill"])
def test_a_command_says_so_in_one_line_and_has_written_nothing(
    scene: Path, tmp_path: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tmp_path / "root"
    root.mkdir()
    assert cli.run([command, str(scene), "--to", str(root), *OPTIONS]) == 2
    said = capsys.readouterr().err
    assert SAID in said.splitlines()[-1]
    assert "Traceback" not in said
    assert list(root.rglob("*")) == []


def test_a_backfill_of_many_scenes_asks_once(
    scene: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Engine] = []

    def check(engine: Engine) -> None:
        asked.append(engine)
        check_answers(engine)

    monkeypatch.setattr("flows.starting.launching.check_answers", check)
    scenes = [str(scene)] * 5
    assert cli.run(["backfill", *scenes, "--to", str(tmp_path / "root"), *OPTIONS]) == 2
    assert len(asked) == 1


def unplanned(scene: Path, root: Path) -> str:
    """The ID of a job whose plan a repair would write first."""
    spec = job.plan_job([str(scene)], str(root), None, RECIPE.options())
    return spec.plan.job_id


def test_a_repair_says_so_first(
    scene: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tmp_path / "root"
    root.mkdir()
    where = ["--to", str(root), "--source", str(scene)]
    assert cli.run(["repair", unplanned(scene, root), *where, *OPTIONS]) == 2
    assert SAID in capsys.readouterr().err
    assert list(root.rglob("*")) == []


@pytest.mark.usefixtures("harness")
def test_flows_end_as_bad_input(scene: Path, tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    to: Any = {"to": str(root), "return_state": True, **ENGINE}
    many = SceneSelection(scenes=[str(scene)])
    states = [
        process_scene([str(scene)], recipe=RECIPE, **to),
        backfill_scenes(many, recipe=RECIPE, deployment="", **to),
        repair_scene(unplanned(scene, root), **to),
    ]
    assert [one.name for one in states] == ["BadInput"] * 3
    assert all(SAID in str(one.message) for one in states)
    assert list(root.rglob("*")) == []


@pytest.mark.usefixtures("harness")
def test_a_job_that_is_finished_needs_no_cluster(scene: Path, tmp_path: Path) -> None:
    root = tmp_path / "root"
    given: Any = {"to": str(root), "recipe": RECIPE, "return_state": True}
    assert process_scene([str(scene)], **given).name == "Mosaicked"
    before = objects(root)
    assert process_scene([str(scene)], **given, **ENGINE).name == "AlreadyMosaicked"
    assert objects(root) == before


@pytest.mark.parametrize(("name", "scheme"), [("dask", "tls"), ("ray", "ray")])
def test_whoever_takes_a_connection_answers(
    listener: socket.socket, name: EngineName, scheme: str
) -> None:
    check_answers(Engine(name, address_of(listener, scheme)))
    check_answers(Engine(name))


def test_a_dask_scheduler_speaks_first(listener: socket.socket) -> None:
    engine = Engine("dask", address_of(listener, "tcp"))
    with pytest.raises(NobodyAnswers, match="timed out"):
        check_answers(engine, greeting_s=0.01)
    listener.accept()[0].close()
    for said in (b"scheduler", b""):
        with ThreadPoolExecutor(1) as clients:
            checking = clients.submit(check_answers, engine)
            connection, _ = listener.accept()
            connection.sendall(said)
            connection.close()
            raised = checking.exception()
        assert (raised is None) == bool(said), raised


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (TimeoutError("timed out"), "timed out"),
        (socket.gaierror(-2, "Name or service not known"), "Name or service not known"),
        (UnicodeError("label empty or too long"), "label empty or too long"),
    ],
)
def test_the_reason_is_named(
    monkeypatch: pytest.MonkeyPatch, error: Exception, reason: str
) -> None:
    asked: list[Any] = []

    def connect(address: Any, timeout: float) -> None:
        asked.append((address, timeout))
        raise error

    monkeypatch.setattr(socket, "create_connection", connect)
    with pytest.raises(NobodyAnswers) as found:
        check_answers(Engine("ray", "ray://[fe80::1%eth0]:10001"))
    assert asked == [(("fe80::1%eth0", 10001), 5.0)]
    assert str(found.value).startswith(
        f"the ray cluster at ray://[fe80::1%eth0]:10001 does not answer: {reason}; start it"
    )

"""The restore drill of docs/operations.md, with the document's own commands in its own order."""

import re
import shlex
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from flows.cli import run
from scenemosaic import keys
from scenemosaic.job import load_job
from scenemosaic.publishing.item import read_item
from scenemosaic.session import open_session
from tests import servers
from tests.conftest import REPOSITORY
from tests.jobs import run_job
from tests.jobs.conftest import scene
from tests.validators import assert_valid_cog

__all__ = ["scene"]
WINDOW = 512
Lose = Callable[[str], None]


@dataclass(frozen=True)
class Ground:
    """A root that keeps what it is told, and ways to lose things there past all guards."""

    root: str
    manifest: str
    lose_object: Lose
    lose_row: Callable[[str, str], None]


def drill() -> list[tuple[str, int]]:
    """The commands with the exit codes that the document promises."""
    text = (REPOSITORY / "docs" / "operations.md").read_text()
    (block,) = re.findall(r"<!-- the drill -->\n```sh\n(.*?)```", text, re.DOTALL)
    return [
        (line, int(code))
        for line, code in re.findall(r"^(scenemosaic .*?) +# exit (\d)$", block, re.MULTILINE)
    ]


@pytest.fixture(params=["local", "versioned bucket"])
def ground(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Ground]:
    if request.param == "local":
        root = tmp_path / "root"
        yield Ground(
            str(root),
            f"sqlite:///{root}/manifest.db",
            lambda key: (root / key).unlink(),
            lambda partition, window: forget(root / "manifest.db", partition, window),
        )
        return
    endpoint = request.getfixturevalue("ministack")
    monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
    bucket, table = servers.make_bucket(endpoint, versioned=True), servers.fresh_table_name()
    s3, dynamodb = (servers.aws_client(name, endpoint) for name in ("s3", "dynamodb"))  # type: ignore[arg-type]
    yield Ground(
        f"s3://{bucket}/archive",
        f"dynamodb://{table}?region={servers.REGION}",
        lambda key: s3.delete_object(Bucket=bucket, Key=f"archive/{key}"),
        lambda partition, window: dynamodb.delete_item(
            TableName=table, Key={"job_id": {"S": partition}, "window": {"S": window}}
        ),
    )


def forget(file: Path, partition: str, window: str) -> None:
    with closing(sqlite3.connect(file)) as rows, rows:
        done = rows.execute(
            'DELETE FROM manifest_rows WHERE job_id = ? AND "window" = ?', (partition, window)
        )
        assert done.rowcount == 1


LOSSES: dict[str, list[str]] = {
    "tiles": ["tile 0000_0000", "tile 0000_0001"],
    "rows": ["row 0000_0000", "row mosaic"],
    "the mosaic": ["mosaic"],
    "preview and item": ["preview", "item"],
    "all of it": ["tile 0000_0000", "row 0000_0001", "mosaic", "row mosaic", "preview", "item"],
}


@pytest.mark.parametrize("lost", LOSSES)
def test_what_was_lost_comes_back(
    ground: Ground, scene: Path, lost: str, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    job_id = run_job.run(str(scene), ground.root, ground.manifest, WINDOW, "first")["job_id"]
    for one in LOSSES[lost]:
        lose(ground, job_id, one)
    variables = {"JOB": job_id, "ROOT": ground.root, "SCENE": str(scene)}
    commands = drill()
    assert len(commands) == 4
    for line, code in commands:
        for name, value in variables.items():
            line = line.replace(f"${name}", shlex.quote(value))
        _, *arguments = shlex.split(line)
        said = run([*arguments, "--manifest", ground.manifest])
        told = capfd.readouterr()
        assert said == code, (line, told)
    assert told.out.splitlines()[-1] == "finished"
    assert_as_before(ground, job_id, scene, tmp_path)


def lose(ground: Ground, job_id: str, what: str) -> None:
    kind, _, name = what.partition(" ")
    if kind == "row":
        spec = load_job(job_id, ground.root, ground.manifest)
        ground.lose_row(keys.partition(job_id, spec.root), name)
        return
    make: dict[str, Callable[[], str]] = {
        "tile": lambda: keys.tile_key(job_id, name),
        "mosaic": lambda: keys.mosaic_key(job_id),
        "preview": lambda: keys.preview_key(job_id),
        "item": lambda: keys.item_key(job_id),
    }
    ground.lose_object(make[kind]())


def assert_as_before(ground: Ground, job_id: str, scene: Path, folder: Path) -> None:
    """The item leads to a mosaic that is valid and has the scene's pixels."""
    import rasterio

    spec = load_job(job_id, ground.root, ground.manifest)
    session = open_session(spec)
    item = read_item(session, spec)
    assert item is not None
    path = folder / "restored.tif"
    path.write_bytes(session.store.get(keys.mosaic_key(job_id, item.revision)))
    assert_valid_cog(path)
    with rasterio.open(scene) as source, rasterio.open(path) as made:
        assert (source.read() == made.read()).all()

"""Bad input: exit 2 or 5, one line on stderr, nothing written, no Prefect started."""

import http.server
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import rasterio

from tests.flows.serving import Answer, run_command

# A command that imported Prefect would make this home.
HOME = "prefect-home"

# Of names that a file system takes.
LONG_MANIFEST = "sqlite:///" + f"/{'m' * 200}" * 10 + "/m.db"


@pytest.fixture
def refused(tmp_path: Path) -> Callable[..., Answer]:
    """Run ``process`` and hold it to what every refusal promises."""

    def run(source: Path | str, to: Path | str, code: int, *more: str, **env: str) -> Answer:
        home = tmp_path / HOME
        before = everything(tmp_path)
        extra = {"PREFECT_HOME": str(home), "XDG_CACHE_HOME": str(tmp_path / "cache"), **env}
        arguments = ["process", str(source), "--to", str(to), *more]
        answer = run_command(arguments, tmp_path, extra)
        assert answer.code == code, answer.err
        lines = answer.err.splitlines()
        assert len(lines) == 1, answer.err
        assert lines[0].startswith("scenemosaic: ")
        assert not home.exists()
        assert everything(tmp_path) == before
        if "--json" in more:
            value = answer.value()
            assert value["exit_code"] == code
            assert value["error"]["message"].split() == lines[0].split()[1:]
        else:
            assert answer.out == ""
        return answer

    return run


def everything(folder: Path) -> set[str]:
    found = {str(path.relative_to(folder)) for path in folder.rglob("*")}
    return {path for path in found if path.split("/")[0] != "cache"}


@pytest.mark.parametrize("more", [(), ("--json",)])
def test_missing_file(refused: Callable[..., Answer], tmp_path: Path, more: tuple[str]) -> None:
    answer = refused(tmp_path / "absent.tif", tmp_path / "root", 2, *more)
    assert "absent.tif" in answer.err


def test_not_a_raster(refused: Callable[..., Answer], tmp_path: Path) -> None:
    text = tmp_path / "notes.tif"
    text.write_text("not a raster at all\n" * 50)
    assert "notes.tif" in refused(text, tmp_path / "root", 2).err


@pytest.mark.parametrize("share", [0.2, 0.6, 0.99])
def test_truncated_raster(
    refused: Callable[..., Answer], tmp_path: Path, scene: Path, share: float
) -> None:
    scene.write_bytes(scene.read_bytes()[: int(scene.stat().st_size * share)])
    assert "scene.tif" in refused(scene, tmp_path / "root", 2).err


def test_no_georeferencing(refused: Callable[..., Answer], tmp_path: Path) -> None:
    path = tmp_path / "plain.tif"
    with (
        pytest.warns(rasterio.errors.NotGeoreferencedWarning),
        rasterio.open(path, "w", "GTiff", 64, 64, 1, dtype="uint8") as plain,
    ):
        plain.write(np.ones((1, 64, 64), np.uint8))
    assert "plain.tif" in refused(path, tmp_path / "root", 2).err


def test_a_root_below_a_file(refused: Callable[..., Answer], tmp_path: Path, scene: Path) -> None:
    (tmp_path / "file").write_text("")
    refused(scene, tmp_path / "file" / "root", 5)


def test_a_root_that_no_one_can_make(refused: Callable[..., Answer], scene: Path) -> None:
    refused(scene, "/proc/scenemosaic", 5, "--json")


@pytest.mark.parametrize(
    "root", ["ftp://host/x", "s3://", "s3://UPPER/x", "s3://bucket/x?versionId=1", ""]
)
def test_not_a_root(refused: Callable[..., Answer], scene: Path, root: str) -> None:
    refused(scene, root, 2)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--workers", "257"], "--workers: Input should be less than or equal to 256"),
        (["--manifest", LONG_MANIFEST], "--manifest: String should have at most"),
    ],
)
def test_what_the_flow_would_refuse(
    refused: Callable[..., Answer], tmp_path: Path, scene: Path, more: list[str], said: str
) -> None:
    assert said in refused(scene, tmp_path / "root", 2, *more).err
    assert said in refused(scene, tmp_path / "root", 2, *more, "--dry-run").err


@pytest.mark.parametrize("manifest", ["mysql://x/y", "dynamodb://", "manifest.db"])
def test_not_a_manifest(
    refused: Callable[..., Answer], tmp_path: Path, scene: Path, manifest: str
) -> None:
    refused(scene, tmp_path / "root", 2, "--manifest", manifest)


def test_no_such_bucket(
    refused: Callable[..., Answer], tmp_path: Path, scene: Path, ministack: str
) -> None:
    manifest = ("--manifest", f"sqlite:///{tmp_path / 'm.db'}")
    answer = refused(scene, "s3://no-such-bucket/x", 5, *manifest, AWS_ENDPOINT_URL_S3=ministack)
    assert "no-such-bucket" in answer.err


def test_no_credentials(refused: Callable[..., Answer], scene: Path) -> None:
    env = {"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""}
    answer = refused(scene, "s3://bucket/x", 5, AWS_ENDPOINT_URL_S3="http://127.0.0.1:9", **env)
    assert "credentials" in answer.err


def test_an_endpoint_that_is_no_url(refused: Callable[..., Answer], scene: Path) -> None:
    answer = refused(scene, "s3://bucket/x", 5, AWS_ENDPOINT_URL_S3="key:S3CRET@host:9000")
    assert "no URL such as https://host:port" in answer.err
    assert "S3CRET" not in answer.err


class NoTable(http.server.BaseHTTPRequestHandler):
    """A DynamoDB without our table, on which we may not make one."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        verb = self.headers["X-Amz-Target"].rpartition(".")[2]
        kind = "AccessDeniedException" if verb == "CreateTable" else "ResourceNotFoundException"
        body = json.dumps({"__type": f"com.amazonaws.dynamodb#{kind}", "message": f"no {verb}"})
        self.send_response(400)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def no_table() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), NoTable) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_a_table_that_may_not_be_made(
    refused: Callable[..., Answer], tmp_path: Path, scene: Path, no_table: str
) -> None:
    manifest = ("--manifest", "dynamodb://no-such-table")
    env = {"AWS_ENDPOINT_URL_DYNAMODB": no_table}
    # The first look at a folder leaves what it found there, which is no output.
    run_command(["process", str(scene), "--to", str(tmp_path / "root"), *manifest], tmp_path, env)
    answer = refused(scene, tmp_path / "root", 5, *manifest, **env)
    assert "no-such-table" in answer.err


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["process"],
        ["process", "a.tif"],
        ["process", "a.tif", "--to", "x", "--window", "many"],
        ["process", "a.tif", "--to", "x", "--window", "0"],
        ["process", "a.tif", "--to", "x", "--workers", "0"],
        ["process", "a.tif", "--to", "x", "--engine", "ray"],
        ["process", "a.tif", "--to", "x", "--expression", "b1 +"],
        ["process", "a.tif", "--to", "x", "--crs", "EPSG:3857"],
        ["status", "--to", "x"],
        ["mosaic"],
        ["process", "--json"],
    ],
)
def test_bad_usage(tmp_path: Path, arguments: list[str]) -> None:
    answer = run_command(arguments, tmp_path)
    assert answer.code == 2
    lines = answer.err.splitlines()
    assert len(lines) == 1 or not arguments
    if "--json" in arguments:
        assert answer.value()["exit_code"] == 2
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("more", "named"),
    [
        (["--block-size", "100"], "100"),
        (["--compress", "rar"], "rar"),
        (["--resampling", "sinc"], "sinc"),
        (["--window", "100"], "100"),
        (["--datetime", "yesterday"], "yesterday"),
        (["--windows-per-task", "201"], "201"),
        (["--compress", "jpeg"], "jpeg"),
    ],
)
def test_bad_options(
    refused: Callable[..., Answer], tmp_path: Path, scene: Path, more: list[str], named: str
) -> None:
    assert named in refused(scene, tmp_path / "root", 2, *more).err


@pytest.mark.parametrize("command", ["status", "assemble"])
@pytest.mark.parametrize("job_id", ["a" * 32, "nonsense"])
def test_no_such_job(tmp_path: Path, command: str, job_id: str) -> None:
    answer = run_command([command, job_id, "--to", str(tmp_path / "root"), "--json"], tmp_path)
    assert answer.code == 2
    assert job_id in answer.value()["error"]["message"]
    assert list(tmp_path.iterdir()) == []


def test_sources_that_do_not_go_together(
    refused: Callable[..., Answer], tmp_path: Path, scene: Path
) -> None:
    other = tmp_path / "other.tif"
    with (
        rasterio.open(scene) as dataset,
        rasterio.open(
            other, "w", **dataset.profile | {"dtype": "int32", "nodata": None}
        ) as changed,
    ):
        changed.write(dataset.read().astype("int32"))
    error = refused(scene, tmp_path / "root", 2, str(other)).err
    assert "--dtype" in error
    assert other.name in error


@pytest.mark.parametrize(
    "more", [("--bounds", "1,2,3"), ("--resolution", "ten"), ("--method", "best"), ("--crs", "x")]
)
def test_grids_that_are_none(
    refused: Callable[..., Answer], tmp_path: Path, scene: Path, more: tuple[str, str]
) -> None:
    assert more[0] in refused(scene, tmp_path / "root", 2, *more).err

"""What people mistype, and streams and signals as shells make them: one line, no traceback."""

import http.server
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from json import loads
from pathlib import Path

import pytest
import rasterio
from rasterio.transform import from_origin

from tests import servers
from tests.flows.scenes import BLOCK, WINDOW, make_scene
from tests.flows.serving import environment, finish, run_command, start_command
from tests.mosaic.pictures import noise

SIZES = ["--window", str(WINDOW), "--block-size", str(BLOCK)]


def shell(folder: Path, arguments: Sequence[str], redirection: str) -> tuple[int, str, str]:
    """A command under a shell's redirection: exit code, stdout, stderr."""
    command = [sys.executable, "-m", "flows.cli", *arguments]
    done = subprocess.run(
        ["sh", "-c", f'exec "$@" {redirection}', "sh", *command],
        cwd=folder,
        env=environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return done.returncode, done.stdout, done.stderr


def only_line(text: str) -> str:
    (line,) = text.splitlines()
    assert line.startswith("scenemosaic: ")
    return line


@pytest.mark.parametrize("json", [[], ["--json"]])
def test_a_full_stdout_is_exit_5(tmp_path: Path, json: list[str]) -> None:
    code, _, err = shell(tmp_path, ["init", "root", *json], "> /dev/full")
    assert code == 5
    assert "stdout" in only_line(err)


TOLD = [["--help"], ["-h"], ["--version"], ["process", "-h"], ["ledger", "--help"]]
TOLD += [["ledger", "show", "--help"]]


@pytest.mark.parametrize("told", TOLD, ids=" ".join)
def test_help_on_a_full_stdout_is_exit_5(tmp_path: Path, told: list[str]) -> None:
    code, _, err = shell(tmp_path, told, "> /dev/full")
    assert code == 5
    assert "stdout" in only_line(err)


def test_help_whose_reader_has_gone_is_exit_5_too(tmp_path: Path) -> None:
    take, give = os.pipe()
    os.close(take)
    command = [sys.executable, "-m", "flows.cli", "process", "--help"]
    done = subprocess.run(
        command, stdout=give, stderr=subprocess.PIPE, env=environment(), text=True, check=False
    )
    os.close(give)
    assert done.returncode == 5
    assert "stdout" in only_line(done.stderr)


def test_an_error_with_a_full_stdout_is_said_too(tmp_path: Path) -> None:
    code, _, err = shell(tmp_path, ["status", "x", "--to", "root", "--json"], "> /dev/full")
    assert code == 5
    assert "32 hex digits" in err.splitlines()[0]
    assert "Traceback" not in err


@pytest.mark.parametrize("redirection", ["2>&-", "2> /dev/full", "<&-"])
def test_a_closed_stream_changes_nothing(tmp_path: Path, redirection: str) -> None:
    code, out, err = shell(tmp_path, ["init", "root"], redirection)
    assert (code, err) == (0, "")
    assert "manifest" in out
    code, out, err = shell(tmp_path, ["status", "x", "--to", "root"], redirection)
    assert (code, out) == (2, "")
    assert "Traceback" not in err


def test_progress_and_warnings_on_a_full_disk_end_no_command(tmp_path: Path) -> None:
    make_scene(tmp_path / "scene.tif")
    made = ["process", "scene.tif", "--to", "root", *SIZES, "--json"]
    code, out, _ = shell(tmp_path, made, "2> /dev/full")
    assert code == 0
    verified = ["verify", loads(out)["job_id"], "--to", "root"]
    code, out, _ = shell(tmp_path, verified, "2> /dev/full")
    assert code == 0
    assert "all is well" in out


def test_no_output_ever_takes_the_number_of_a_closed_stream(tmp_path: Path) -> None:
    code, out, _ = shell(tmp_path, ["init", "root"], "<&- >&- 2>&-")
    assert (code, out) == (0, "")
    assert (tmp_path / "root" / "manifest.db").read_bytes().startswith(b"SQLite format 3")


def test_no_command_is_answered_with_the_whole_help(tmp_path: Path) -> None:
    answer = run_command([], tmp_path)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err == run_command(["--help"], tmp_path).out


@pytest.mark.parametrize(
    ("root", "right"),
    [
        ("s3:/bucket/x", "s3://bucket/x"),
        ("s3:bucket/x", "s3://bucket/x"),
        ("GS:/bucket", "gs://bucket"),
        ("az:container", "az://container"),
        ("file:/tmp/x", "file:///path"),
    ],
)
def test_a_slash_too_few_is_no_folder(tmp_path: Path, root: str, right: str) -> None:
    answer = run_command(["init", root], tmp_path)
    assert answer.code == 2
    assert right in only_line(answer.err)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("root", ["loop", "loop/below"])
def test_a_loop_of_links_is_no_root(tmp_path: Path, root: str) -> None:
    (tmp_path / "loop").symlink_to("other")
    (tmp_path / "other").symlink_to("loop")
    answer = run_command(["init", root], tmp_path)
    assert answer.code in (2, 5)
    assert "loop" in only_line(answer.err)


def test_gc_passes_over_a_strange_folder(tmp_path: Path) -> None:
    hidden = tmp_path / "root" / ".scenemosaic" / "tmp"
    (hidden / "folder.tmp").mkdir(parents=True)
    (hidden / "dead.tmp").write_text("")
    answer = run_command(["gc", "root", "--older-than", "0s", "--abort"], tmp_path)
    assert (answer.code, answer.err) == (0, "")
    assert [path.name for path in hidden.iterdir()] == ["folder.tmp"]


def test_gc_of_no_folder_says_so(tmp_path: Path) -> None:
    answer = run_command(["gc", "absent"], tmp_path)
    assert answer.code == 2
    assert "absent" in only_line(answer.err)
    assert list(tmp_path.iterdir()) == []


def test_names_of_codecs_and_kernels_may_be_capitals(tmp_path: Path, scene: Path) -> None:
    given = ["process", str(scene), "--to", "root", *SIZES, "--dry-run", "--json"]
    small = run_command([*given, "--compress", "zstd", "--resampling", "mode"], tmp_path).value()
    large = run_command([*given, "--compress", "ZSTD", "--resampling", "Mode"], tmp_path).value()
    assert large == small


def test_lossy_codecs_say_so(tmp_path: Path) -> None:
    with rasterio.open(
        tmp_path / "rgb.tif", "w", driver="GTiff", count=3, width=200, height=100, dtype="uint8",
        crs="EPSG:32631", transform=from_origin(400_000, 5_000_000, 10, 10),
    ) as dataset:  # fmt: skip
        dataset.write(noise("uint8", (3, 100, 200)))
    given = ["process", "rgb.tif", "--to", "root", "--dry-run", "--datetime", "2024-05-01"]
    given.append("--compress")
    for codec in ("jpeg", "webp"):
        answer = run_command([*given, codec], tmp_path)
        assert answer.code == 0
        (line,) = answer.err.splitlines()
        assert f"{codec} is lossy" in line
    assert run_command([*given, "zstd"], tmp_path).err == ""


class Pages(http.server.BaseHTTPRequestHandler):
    """Beside its API, Prefect's server shows pages."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"<html>Prefect</html>")

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def pages() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Pages) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.slow
def test_the_servers_address_without_its_api_is_exit_5(
    tmp_path: Path, scene: Path, pages: str
) -> None:
    given = ["process", str(scene), "--to", "root", *SIZES]
    for url in (pages, f"{pages}/"):
        answer = run_command(given, tmp_path, {"PREFECT_API_URL": url})
        assert answer.code == 5
        assert f"set PREFECT_API_URL to the API's own URL, such as {pages}/api" in answer.err
        assert "Traceback" not in answer.err


@pytest.mark.slow
@pytest.mark.parametrize("url", ["nonsense", "http://127.0.0.1:{port}/api", "ftp://127.0.0.1/api"])
def test_an_api_that_cannot_be_asked_is_exit_5(tmp_path: Path, scene: Path, url: str) -> None:
    # Nobody else gets the port while it is bound, and nobody listens.
    with servers.closed_port() as port:
        env = {"PREFECT_API_URL": url.format(port=port)}
        answer = run_command(["process", str(scene), "--to", "root", *SIZES], tmp_path, env)
    assert answer.code == 5
    assert "PREFECT_API_URL" in answer.err.splitlines()[-1]
    assert "Traceback" not in answer.err


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_ends_in_order_and_the_next_run_goes_on(
    tmp_path: Path, prefect_server: str, number: signal.Signals, code: int
) -> None:
    scene = make_scene(tmp_path / "large.tif", 2000, 2000, seed=3)
    given = ["process", str(scene), "--to", "root", *SIZES, "--workers", "1", "--json"]
    extra = {"PREFECT_API_URL": prefect_server}
    process = start_command([*given, "--windows-per-task", "5"], tmp_path, extra)
    while not list((tmp_path / "root" / "tiles").glob("*/*.tif")):
        assert process.poll() is None
        time.sleep(0.01)
    os.kill(process.pid, number)
    stopped = finish(process)
    assert (stopped.code, stopped.value()["exit_code"]) == (code, code)
    assert stopped.value()["error"]["kind"] == "interrupted"
    assert "Traceback" not in stopped.err
    again = run_command(given, tmp_path, extra)
    assert again.code == 0
    assert again.value()["written"] < again.value()["windows"]

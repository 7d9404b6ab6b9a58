"""The temporary server: its own database, gone with its process, whatever ends it."""

import os
import pwd
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest

from flows.server import api as server
from flows.server.api import PrefectUnavailable
from tests import servers
from tests.flows.serving import environment

SCRIPT = Path(server.__file__).with_name("temporary.py")
WAIT_S = 60.0
CHILD = """
import sys, time
from flows.server import api as server
print(server.start_temporary(), flush=True)
time.sleep(600)
"""


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < end, "it did not come to that"
        time.sleep(0.05)


def answers(url: str) -> bool:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(f"{url}/health", timeout=5):
            return True
    except OSError:
        return False


def homes(folder: Path) -> list[Path]:
    return list(folder.glob("scenemosaic-prefect-*"))


@pytest.mark.slow
def test_it_dies_with_its_killed_parent_and_leaves_nothing(tmp_path: Path) -> None:
    extra = {"TMPDIR": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    parent = subprocess.Popen(
        [sys.executable, "-c", CHILD], env=environment(extra), stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    with parent.stdout:
        url = parent.stdout.readline().strip()
    assert answers(url)
    assert len(homes(tmp_path)) == 1
    # The next start takes its empty database from the cache.
    assert len(list((tmp_path / "cache" / "scenemosaic").glob("prefect-*.db"))) == 1
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    until(lambda: not answers(url) and not homes(tmp_path))


@pytest.mark.slow
def test_it_keeps_nothing_of_the_settings_around_it(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    extra = {"PREFECT_HOME": str(home)}
    with subprocess.Popen(
        [sys.executable, "-P", str(SCRIPT)],
        env=environment(extra),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        port = int(process.stdout.readline())
        assert answers(f"http://127.0.0.1:{port}/api")
        _, noise = process.communicate()
    assert (process.returncode, noise) == (0, b"")
    assert list(home.iterdir()) == []


@pytest.mark.slow
def test_it_starts_where_nothing_may_be_kept(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("no folder")
    extra = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    with subprocess.Popen(
        [sys.executable, "-P", str(SCRIPT)],
        env=environment(extra),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline().strip().isdigit()


def test_a_user_without_a_home_is_told_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.setattr(pwd, "getpwuid", lambda uid: {}[uid])
    with pytest.raises(PrefectUnavailable, match="set HOME"):
        server.ensure_api(lambda text: None)


def test_one_that_ends_as_it_starts_is_said_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "_SCRIPT", Path(os.devnull))
    with pytest.raises(PrefectUnavailable, match="ended as it started"):
        server.start_temporary()


def test_one_that_cannot_start_says_where_it_needs_room_and_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    modules, room = tmp_path / "modules", tmp_path / "room"
    modules.mkdir()
    room.mkdir()
    (modules / "uvicorn.py").write_text("raise OSError('no room')")
    monkeypatch.setenv("PYTHONPATH", str(modules))
    monkeypatch.setenv("TMPDIR", str(room))
    monkeypatch.setattr(tempfile, "tempdir", None)
    with pytest.raises(PrefectUnavailable, match=f"{room}, which needs room; TMPDIR names"):
        server.start_temporary()
    assert not list(room.iterdir())


def test_one_that_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    script = tmp_path / "hangs.py"
    script.write_text("import sys; sys.stdin.read()")
    monkeypatch.setattr(server, "_SCRIPT", script)
    monkeypatch.setenv(server.START_VARIABLE, "1")
    with pytest.raises(PrefectUnavailable, match="within 1 s"):
        server.start_temporary()


def test_a_configured_api_that_is_down_is_named_without_its_password(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    url = f"http://ann:S3cret@127.0.0.1:{servers.free_port()}/api"
    monkeypatch.setattr(server, "configured_api", lambda: url)
    with pytest.raises(PrefectUnavailable, match="does not answer") as caught:
        server.ensure_api(lambda text: None)
    assert "S3cret" not in str(caught.value)


ASK = (
    "import sys; from flows.server import api; "
    "print(api.configured_api(), 'prefect' in sys.modules)"
)
PROFILE = """
active = "site"
[profiles.site]
PREFECT_API_URL = "http://127.0.0.1:4222/api"
"""


def asked(folder: Path, extra: dict[str, str]) -> str:
    env = environment({"PREFECT_HOME": str(folder / "home"), **extra})
    return subprocess.run(
        [sys.executable, "-c", ASK], cwd=folder, env=env, capture_output=True, text=True, check=True
    ).stdout.strip()


def test_where_nothing_is_configured_prefect_is_not_asked(tmp_path: Path) -> None:
    assert asked(tmp_path, {}) == "None False"


def test_the_environment_and_the_active_profile_are_asked(tmp_path: Path) -> None:
    url = "http://127.0.0.1:4222/api"
    assert asked(tmp_path, {"PREFECT_API_URL": url}) == f"{url} True"
    (tmp_path / "home" / "profiles.toml").write_text(PROFILE)
    assert asked(tmp_path, {}) == f"{url} True"

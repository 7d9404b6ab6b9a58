"""Which engine there is to be had, and what it says where there is none."""

import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from flows import cli
from flows.engines import engine as engines
from flows.engines.engine import Engine, EngineName
from flows.engines.limits import default_workers, limits_of
from scenemosaic import errors
from scenemosaic.errors import InputError, SceneMosaicError
from tests.flows.serving import environment


@pytest.mark.parametrize("name", ["dask", "ray"])
def test_an_engine_that_is_not_installed_is_one_line(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(engines, "find_spec", lambda module: None)
    code = cli.run(["process", "a.tif", "--to", str(tmp_path), "--engine", name])
    said = capsys.readouterr().err
    assert code == 2
    assert said.count("\n") == 1
    assert f"pip install 'scenemosaic[{name}]'" in said
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("name", "address", "reason"),
    [
        ("threads", "tcp://host:8786", "threads have no address"),
        ("dask", "host:8786", "tcp://host:port or tls://host:port, without a user"),
        ("dask", "tcp://user:password@host:8786", "without a user"),
        ("dask", "ray://host:8786", "not ray://"),
        ("dask", "inproc://password", "not inproc://"),
        ("ray", "tcp://host:8786", "ray://host:port, not tcp://"),
        ("dask", "tcp://host", "host:port"),
        ("dask", "tcp://host:0", "host:port"),
        ("dask", "tcp://host:65536", "host:port"),
        ("dask", "tcp://::1:8786", "an IPv6 host stands in brackets"),
        ("dask", "tcp://[host]:8786", "no IPv6 address"),
        ("ray", "ray://host:10001/password", "host:port"),
    ],
)
def test_an_address_that_is_none_of_the_engines(
    name: EngineName, address: str, reason: str
) -> None:
    with pytest.raises(InputError, match="address") as found:
        Engine(name, address)
    assert reason in str(found.value)
    assert "password" not in str(found.value)


@pytest.mark.parametrize(
    ("name", "address", "endpoint"),
    [
        ("dask", "tcp://10.0.0.7:8786", ("10.0.0.7", 8786)),
        ("dask", "tls://scheduler.example.org:1", ("scheduler.example.org", 1)),
        ("dask", "tls://[::1]:8786", ("::1", 8786)),
        ("ray", "ray://[2001:db8::7]:65535", ("2001:db8::7", 65_535)),
        ("ray", None, None),
    ],
)
def test_an_address_has_a_host_and_a_port(
    name: EngineName, address: str | None, endpoint: tuple[str, int] | None
) -> None:
    assert Engine(name, address).endpoint == endpoint


def test_an_engine_has_its_own_number_of_workers() -> None:
    assert limits_of(None, None, False, Engine("dask")).workers == 2
    assert limits_of(None, None, False, Engine()).workers == default_workers()
    assert limits_of(5, None, False, Engine("dask")).workers == 5


def test_every_error_comes_back_from_another_process() -> None:
    named = [one for one in vars(errors).values() if isinstance(one, type)]
    kinds = [one for one in named if issubclass(one, SceneMosaicError)]
    assert kinds
    for kind in kinds:
        error = pickle.loads(pickle.dumps(kind("what happened")))
        assert type(error) is kind
        assert str(error) == "what happened"


def test_a_worker_that_loads_the_task_finds_credentials_by_their_names() -> None:
    said = "import tasks.commit_windows; from scenemosaic import access; print(*access._resolvers)"
    done = subprocess.run(
        [sys.executable, "-c", said],
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
        timeout=100,
    )
    assert "aws-credentials" in done.stdout.split()

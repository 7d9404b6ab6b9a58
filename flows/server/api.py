"""Which Prefect API a command talks to: the configured one, or a temporary one of its own."""

import atexit
import os
import queue
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from scenemosaic.errors import StoreError

START_S: Final = 180.0
START_VARIABLE: Final = "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS"
STOP_S: Final = 5.0
ANSWER_S: Final = 30.0
STARTING: Final = "starting Prefect's temporary server (takes about 5 to 20 s) …"
_SCRIPT: Final = Path(__file__).with_name("temporary.py")
_API: Final = "PREFECT_API_URL"
_TEMPORARY: Final = "SCENEMOSAIC_TEMPORARY_API_URL"
_DEFAULTS: Final = {
    # Prefect counts imports and first runs unless told not to; our commands call nobody.
    "DO_NOT_TRACK": "1",
    # Our own lines, refusals among them, belong to the run's records.
    "PREFECT_LOGGING_EXTRA_LOGGERS": "scenemosaic,flows,tasks",
    "PREFECT_LOGGING_TO_API_WHEN_MISSING_FLOW": "ignore",
    # Prints whole events where the API has gone away.
    "PREFECT_INTERNAL_LOGGING_LEVEL": "CRITICAL",
}


class PrefectUnavailable(StoreError):
    """Prefect's API does not answer, or its temporary server did not start."""

    kind = "prefect"


def configured_api() -> str | None:
    """The API's URL from the environment, the active profile or a settings file, if any."""
    if not _may_be_configured():
        return None
    _before_import()
    from prefect.settings import get_current_settings

    return get_current_settings().api.url or None


def _may_be_configured() -> bool:
    """False where no place that Prefect reads exists: to ask Prefect itself takes a second."""
    home = Path(os.environ.get("PREFECT_HOME") or os.path.expanduser("~/.prefect"))
    profiles = Path(os.environ.get("PREFECT_PROFILES_PATH") or home / "profiles.toml")
    files = (profiles, Path(".env"), Path("prefect.toml"), Path("pyproject.toml"))
    return _API in os.environ or any(map(os.path.exists, files))


def _before_import() -> None:
    """What Prefect reads at its import, unless the user has set it. Raises PrefectUnavailable."""
    if os.path.expanduser("~") == "~":  # a container's user, say, that its system does not know
        raise PrefectUnavailable("this user has no home folder, which Prefect needs: set HOME")
    for name, value in _DEFAULTS.items():
        os.environ.setdefault(name, value)


def ensure_api(announce: Callable[[str], None]) -> str:
    """The URL of an API that answers; ``announce`` is told before a temporary server starts.

    Raises PrefectUnavailable.
    """
    url = configured_api()
    if url is not None:
        return _answering(url)
    announce(STARTING)
    _before_import()
    url = start_temporary()
    _use(url)
    return url


def start_temporary() -> str:
    """Start a server that ends with this process, however it ends; the API's URL."""
    process = subprocess.Popen(
        # -P: the folder of the script holds modules of ours, not of the server's.
        [sys.executable, "-P", str(_SCRIPT)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # Ctrl-C is for the command, which ends the server itself
    )
    atexit.register(_stop, process)
    return f"http://127.0.0.1:{_port(process, _start_seconds())}/api"


def _start_seconds() -> float:
    text = os.environ.get(START_VARIABLE, "")
    return float(text) if text.isdecimal() else START_S


def _port(process: "subprocess.Popen[bytes]", start_s: float) -> int:
    lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    output = process.stdout
    if output is not None:
        threading.Thread(target=lambda: lines.put(output.readline()), daemon=True).start()
    try:
        line = lines.get(timeout=start_s).strip()
    except queue.Empty:
        _stop(process)
        raise PrefectUnavailable(
            f"Prefect's temporary server did not start within {start_s:.0f} s: "
            f"give it longer ({START_VARIABLE}) or set {_API} to a running server's"
        ) from None
    if not line.isdigit():
        _stop(process)
        raise PrefectUnavailable(
            f"Prefect's temporary server ended as it started: {temporary_folder()}; "
            f"or set {_API} to a running server's (prefect server start)"
        )
    return int(line)


def _stop(process: "subprocess.Popen[bytes]") -> None:
    if process.stdin is not None:
        process.stdin.close()
    try:
        process.wait(STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _use(url: str) -> None:
    """Make ``url`` this process's API, in every thread."""
    from prefect.context import refresh_global_settings_context

    os.environ[_API] = os.environ[_TEMPORARY] = url
    # Nobody will ever look at this server: logs and heartbeats would be sent for nothing.
    os.environ.setdefault("PREFECT_LOGGING_TO_API_ENABLED", "false")
    refresh_global_settings_context()


def is_temporary() -> bool:
    """Whether this process's API is one that ends with it: what it records, nobody reads."""
    return os.environ.get(_API, "") == os.environ.get(_TEMPORARY)


def temporary_folder() -> str:
    """Where a temporary server keeps its database, with what to do where that has no room."""
    return f"its database is below {tempfile.gettempdir()}, which needs room; TMPDIR names another"


def answers(url: str) -> bool:
    """Whether a healthy API is there by now."""
    import httpx

    try:
        return httpx.get(f"{url}/health", timeout=ANSWER_S, trust_env=False).is_success
    except httpx.TransportError:
        return False


def _answering(url: str) -> str:
    """The URL itself where an API is behind it, whatever it says of its health."""
    import httpx

    try:
        # To read the trusted certificates takes longer than the answer, and http needs none.
        answer = httpx.get(f"{url}/health", timeout=ANSWER_S, verify=url.startswith("https:"))
    except (httpx.TransportError, httpx.InvalidURL) as error:
        raise PrefectUnavailable(
            f"Prefect's API at {_public(url)} does not answer ({error}): "
            f"start it (prefect server start), or unset {_API}"
        ) from error
    # The server of the API shows its pages beside it, and so answers there too.
    if "api" not in urlsplit(url).path.split("/") and answer.text.strip() != "true":
        raise PrefectUnavailable(
            f"there is no Prefect API at {_public(url)}: "
            f"set {_API} to the API's own URL, such as {_public(url).rstrip('/')}/api"
        )
    return url


def _public(url: str) -> str:
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()

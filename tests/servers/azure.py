"""Azure's blobs: azurite, where tests/emulators/install put it."""

import os
from pathlib import Path

from tests.servers.process import Server, free_port, start

AZURITE_ACCOUNT = "devstoreaccount1"
AZURITE_KEY = (
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
)


def azurite_program() -> Path:
    """Where tests/emulators/install puts azurite; it may not be there."""
    default = Path(__file__).resolve().parents[2] / ".emulators"
    emulators = Path(os.environ.get("SCENEMOSAIC_EMULATORS") or default)
    return emulators / "node_modules" / ".bin" / "azurite-blob"


def start_azurite(folder: Path) -> Server:
    """Azure Blob Storage of one account, in memory."""
    port = free_port()
    command = [
        *(str(azurite_program()), "--blobHost", "127.0.0.1", "--blobPort", str(port)),
        *("--inMemoryPersistence", "--skipApiVersionCheck", "--disableTelemetry", "--silent"),
    ]
    return start("azurite", command, port, folder, ready_path=f"/{AZURITE_ACCOUNT}")


def azurite_connection(endpoint: str) -> str:
    """The connection string of azurite's one account, whose key is printed in its manual."""
    return (
        f"DefaultEndpointsProtocol=http;AccountName={AZURITE_ACCOUNT};"
        f"AccountKey={AZURITE_KEY};BlobEndpoint={endpoint}/{AZURITE_ACCOUNT};"
    )

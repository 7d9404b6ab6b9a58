"""Real servers for tests: on 127.0.0.1 and a free port, a module for each kind."""

from tests.servers.aws import (
    REGION,
    aws_client,
    fresh_table_name,
    make_bucket,
    start_ministack,
    start_moto,
)
from tests.servers.azure import (
    AZURITE_ACCOUNT,
    AZURITE_KEY,
    azurite_connection,
    azurite_program,
    start_azurite,
)
from tests.servers.gcs import start_fake_gcs, start_gcp_storage_emulator
from tests.servers.postgres import (
    POSTGRES_PASSWORD,
    Postgres,
    drop_postgres_database,
    make_postgres_database,
    postgres_connection,
    postgres_is_there,
)
from tests.servers.process import (
    PYTHONPATH,
    SELDOM,
    Server,
    ServerFailed,
    closed_port,
    free_port,
    running,
    script,
    start,
)

__all__ = [
    "AZURITE_ACCOUNT",
    "AZURITE_KEY",
    "POSTGRES_PASSWORD",
    "PYTHONPATH",
    "REGION",
    "SELDOM",
    "Postgres",
    "Server",
    "ServerFailed",
    "aws_client",
    "azurite_connection",
    "azurite_program",
    "closed_port",
    "drop_postgres_database",
    "free_port",
    "fresh_table_name",
    "make_bucket",
    "make_postgres_database",
    "postgres_connection",
    "postgres_is_there",
    "running",
    "script",
    "start",
    "start_azurite",
    "start_fake_gcs",
    "start_gcp_storage_emulator",
    "start_ministack",
    "start_moto",
]

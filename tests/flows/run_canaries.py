"""Saves blocks full of secrets: ``python -m tests.flows.run_canaries ENDPOINT CLOSED``.

Scene stores ``canary-open``, at an endpoint that answers, ``canary-shut``, at one that does
not, and ``canary-sql``, whose rows go to a PostgreSQL that nobody listens for.
"""

import sys

from prefect.blocks.system import Secret
from prefect_aws import AwsCredentials
from pydantic import SecretStr

from blocks import SceneStore, TileManifest
from tests import servers
from tests.flows.canaries import SECRETS

BUCKET = "canaries"


def save(endpoint: str, shut: str) -> None:
    keys = AwsCredentials(
        aws_access_key_id="AKIDEXAMPLE",
        aws_secret_access_key=SecretStr(SECRETS["key"]),
        region_name=servers.REGION,
    )
    keys.save("canary-keys", overwrite=True)
    keys = AwsCredentials.load("canary-keys")
    Secret(value=SECRETS["password"]).save("canary-password", overwrite=True)
    password = Secret.load("canary-password")
    root = f"s3://{BUCKET}/root"
    for name, address in (("open", endpoint), ("shut", shut)):
        table = TileManifest(url="dynamodb://canaries", credentials=keys, endpoint=address)
        table.save(f"canary-{name}", overwrite=True)
        table = TileManifest.load(f"canary-{name}")
        SceneStore(root=root, aws_credentials=keys, endpoint=address, manifest=table).save(
            f"canary-{name}", overwrite=True
        )
    port = shut.rpartition(":")[2]
    rows = TileManifest(url=f"postgresql+psycopg://me@127.0.0.1:{port}/x", password=password)
    rows.save("canary-sql", overwrite=True)
    rows = TileManifest.load("canary-sql")
    elsewhere = f"s3://{BUCKET}/sql"
    SceneStore(root=elsewhere, aws_credentials=keys, endpoint=endpoint, manifest=rows).save(
        "canary-sql", overwrite=True
    )


if __name__ == "__main__":
    save(*sys.argv[1:])

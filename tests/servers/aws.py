"""AWS: ministack and moto, with clients, buckets and tables past the product's own."""

import functools
import sys
import uuid
from pathlib import Path
from typing import Any, Literal

import boto3
from botocore.config import Config

from tests.servers.process import Server, free_port, script, start

REGION = "us-east-1"


def start_ministack(folder: Path) -> Server:
    """S3, DynamoDB and SQS on one endpoint, all state in memory or in ``folder``."""
    port = free_port()
    env = {
        "BIND_HOST": "127.0.0.1",
        "GATEWAY_PORT": str(port),
        "SERVICES": "s3,dynamodb,sqs,sts",
        "S3_DATA_DIR": str(folder / "s3"),
        "STATE_DIR": str(folder / "state"),
        "IOT_MTLS_ENABLED": "0",
        "SFTP_ENABLED": "0",
        "LOG_LEVEL": "WARNING",
    }
    command = [script("ministack")]
    return start("ministack", command, port, folder, env=env, ready_path="/_ministack/ready")


_UNDIVIDED_MOTO = """
import sys
from moto.server import main
sys.setswitchinterval(60)
main()
"""


def start_moto(folder: Path, *, as_it_comes: bool = False) -> Server:
    """moto's server: S3 only for us (its conditional DynamoDB puts are not atomic).

    It looks at a condition and then writes, as one of many threads: of S3, too, two writers won
    once on a busy machine. So its interpreter does not take turns while a thread has something
    to do, unless it is wanted as it comes.
    """
    port = free_port()
    program = [script("moto_server")] if as_it_comes else [sys.executable, "-c", _UNDIVIDED_MOTO]
    command = [*program, "-H", "127.0.0.1", "-p", str(port)]
    return start("moto_server", command, port, folder, ready_path="/moto-api/")


@functools.cache
def aws_client(service: Literal["s3", "dynamodb", "sqs"], endpoint: str) -> Any:
    """A plain client for a test's back door: dummy credentials, given in full; safe in threads."""
    return boto3.client(
        service,
        endpoint_url=endpoint,
        region_name=REGION,
        aws_access_key_id="test",
        aws_secret_access_key="test",
        config=Config(s3={"addressing_style": "path"}, proxies={}, max_pool_connections=64),
    )


def make_bucket(endpoint: str, *, versioned: bool = False) -> str:
    """A fresh, empty bucket's name."""
    s3 = aws_client("s3", endpoint)
    bucket = f"sm-{uuid.uuid4().hex[:16]}"
    s3.create_bucket(Bucket=bucket)
    if versioned:
        s3.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
    return bucket


def fresh_table_name() -> str:
    """A DynamoDB table name that nobody has used; the table is not made."""
    return f"sm-{uuid.uuid4().hex[:16]}"

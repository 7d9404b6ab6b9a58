"""A stand-in for the few of AWS's own commands that the documents use, against an emulator."""

import os
import sys
from pathlib import Path
from typing import Any

import boto3

_USAGE = "the stand-in knows s3 mb, s3 cp FILE URL, s3 sync URL FOLDER, s3api put-bucket-versioning"


def main(arguments: list[str]) -> int:
    """One command; anything else is refused, so that a document cannot outrun its test."""
    s3 = boto3.client("s3", endpoint_url=os.environ["AWS_ENDPOINT_URL"])
    match arguments:
        case ["s3", "mb", url]:
            s3.create_bucket(Bucket=url.removeprefix("s3://"))
        case ["s3api", "put-bucket-versioning", "--bucket", bucket, *_, "Status=Enabled"]:
            wanted: Any = {"Status": "Enabled"}
            s3.put_bucket_versioning(Bucket=bucket, VersioningConfiguration=wanted)
        case ["s3", "cp", source, url] if url.startswith("s3://"):
            bucket, _, key = url.removeprefix("s3://").partition("/")
            s3.put_object(Bucket=bucket, Key=_key(key, source), Body=Path(source).read_bytes())
        case ["s3", "sync", url, folder]:
            _sync(s3, url, Path(folder))
        case _:
            sys.exit(_USAGE)
    return 0


def _key(key: str, source: str) -> str:
    return key + Path(source).name if key.endswith("/") or not key else key


def _sync(s3: Any, url: str, folder: Path) -> None:
    bucket, _, prefix = url.removeprefix("s3://").partition("/")
    for found in s3.list_objects_v2(Bucket=bucket, Prefix=prefix).get("Contents", ()):
        path = folder / found["Key"].removeprefix(prefix)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(s3.get_object(Bucket=bucket, Key=found["Key"])["Body"].read())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

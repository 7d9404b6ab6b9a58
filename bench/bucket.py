"""What a bench asks of its own S3: ``python -m bench.bucket make|empty|bytes URI``.

``bytes`` tells how large the raster is that a measured command left below the URI.
"""

import argparse
import json
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import urlsplit

import boto3


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("verb", choices=("make", "empty", "bytes"))
    parser.add_argument("uri")
    options = parser.parse_args(arguments)
    place, client = urlsplit(options.uri), boto3.client("s3")
    if options.verb == "make":
        client.create_bucket(Bucket=place.netloc)
        return
    found = list(_objects(client, place.netloc, place.path))
    if options.verb == "empty":
        for one in found:
            client.delete_object(Bucket=place.netloc, Key=one["Key"])
        return
    rasters = [one["Size"] for one in found if "tiles/" not in one["Key"]]
    print(json.dumps({"bytes": max(rasters, default=0)}))


def _objects(client: Any, bucket: str, path: str) -> Iterator[dict[str, Any]]:
    pages = client.get_paginator("list_objects_v2")
    for page in pages.paginate(Bucket=bucket, Prefix=path.lstrip("/")):
        yield from page.get("Contents", ())


if __name__ == "__main__":
    main()

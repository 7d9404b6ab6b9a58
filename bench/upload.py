"""A command that makes a file, and boto3 that puts it: ``python -m bench.upload FILE URI -- …``.

Without a command the file is there already, and stays.
"""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

import boto3


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    path, uri, *more = sys.argv[1:] if arguments is None else arguments
    command = more[1:]
    if command:
        subprocess.run(command, check=True)
    target = urlsplit(uri)
    boto3.client("s3").upload_file(path, target.netloc, target.path.lstrip("/"))
    if command:
        Path(path).unlink()


if __name__ == "__main__":
    main()

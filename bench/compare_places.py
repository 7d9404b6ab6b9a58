"""Where compared commands write: a folder, or a bucket of a server of the bench's own."""

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.cases import PYTHON
from bench.measure import run
from bench.server import ministack

BUCKET = "bench"


@dataclass(frozen=True)
class Local:
    """A folder; measured commands write ``out``, our own the root."""

    name = "local"
    folder: Path
    env: Mapping[str, str]
    groups: tuple[int, ...] = ()

    def root(self, name: str) -> str:
        return str(self.folder / name)

    @property
    def out(self) -> str:
        return str(self.folder / "out.tif")

    def made(self, command: list[str]) -> list[str]:
        """A command that makes the file :attr:`local_out`, and leaves it where it belongs."""
        return command

    @property
    def local_out(self) -> str:
        return self.out

    def tiles(self, root: str, job_id: str) -> str | None:
        """Where GDAL finds the tiles of a root, if not where they are."""
        return None

    def copy(self, source: Path) -> list[str]:
        """The command that only moves the bytes of a mosaic there."""
        return ["cp", str(source), self.out]

    def out_bytes(self, where: str) -> int:
        path = Path(where)
        found = [path] if path.is_file() else path.glob("mosaics/*/mosaic.tif")
        return max((one.stat().st_size for one in found), default=0)

    def clear(self, where: str) -> None:
        path = Path(where)
        if path.is_dir():
            shutil.rmtree(path)
        path.unlink(missing_ok=True)


@dataclass(frozen=True)
class S3:
    """A bucket; what writes no S3 itself makes its file in ``folder``, and boto3 puts it."""

    name = "S3"
    folder: Path
    env: Mapping[str, str]
    groups: tuple[int, ...]

    def root(self, name: str) -> str:
        return f"s3://{BUCKET}/{name}"

    @property
    def out(self) -> str:
        return f"s3://{BUCKET}/out.tif"

    def made(self, command: list[str]) -> list[str]:
        return [PYTHON, "-m", "bench.upload", self.local_out, self.out, "--", *command]

    @property
    def local_out(self) -> str:
        return str(self.folder / "out.tif")

    def tiles(self, root: str, job_id: str) -> str | None:
        return f"/vsis3/{root.removeprefix('s3://')}/tiles/{job_id}/"

    def copy(self, source: Path) -> list[str]:
        return [PYTHON, "-m", "bench.upload", str(source), self.out]

    def out_bytes(self, where: str) -> int:
        return int(self._bucket("bytes", where)["bytes"])

    def clear(self, where: str) -> None:
        Path(self.local_out).unlink(missing_ok=True)
        self._bucket("empty", where)

    def _bucket(self, verb: str, where: str) -> Mapping[str, int]:
        return run([PYTHON, "-m", "bench.bucket", verb, where], self.env)


@contextmanager
def s3_place(folder: Path, env: Mapping[str, str], groups: tuple[int, ...]) -> Iterator[S3]:
    """An S3 and DynamoDB of its own, one setting for boto3 and for GDAL's readers."""
    with ministack(folder / "ministack") as (url, group):
        more = {
            "AWS_ENDPOINT_URL": url,
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_REGION": "us-east-1",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_S3_ENDPOINT": url.removeprefix("http://"),
            "AWS_HTTPS": "NO",
            "AWS_VIRTUAL_HOSTING": "FALSE",
            "GDAL_DISABLE_READDIR_ON_OPEN": "EMPTY_DIR",
        }
        place = S3(folder, {**env, **more}, (*groups, group))
        run([PYTHON, "-m", "bench.bucket", "make", f"s3://{BUCKET}"], place.env)
        yield place

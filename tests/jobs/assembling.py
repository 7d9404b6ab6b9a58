"""A job whose windows are committed, behind a counting proxy, and assemblers that race for it."""

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import numpy as np
import rasterio

from scenemosaic import job, keys
from scenemosaic.planning import PlanOptions
from tests.faults.proxy import Proxy
from tests.faults.wire import Request
from tests.forked import Fork, forks
from tests.jobs.places import REPOSITORY, Place, client
from tests.validators import assert_valid_cog

WINDOW = 2048


def write_noise(path: Path) -> Path:
    """2048 x 3072 pixels that no codec makes smaller: the mosaic has 16 MiB."""
    pixels = np.random.default_rng(5).integers(0, 65535, (1, 2048, 3072), dtype=np.uint16)
    with rasterio.open(
        path, "w", driver="GTiff", height=2048, width=3072, count=1, dtype="uint16",
        crs="EPSG:32631", transform=rasterio.Affine(10, 0, 5e5, 0, -10, 5e6), tiled=True,
    ) as dataset:  # fmt: skip
        dataset.write(pixels)
    return path


def is_create(seen: Request) -> bool:
    return seen.method == "POST" and "uploads" in parse_qs(seen.query, keep_blank_values=True)


def is_part(seen: Request) -> bool:
    return seen.method == "PUT" and "partNumber" in seen.query


def is_complete(seen: Request) -> bool:
    return seen.method == "POST" and "uploadId" in seen.query


def is_abort(seen: Request) -> bool:
    return seen.method == "DELETE" and "uploadId" in seen.query


def upload_of(seen: Request) -> str:
    return parse_qs(seen.query)["uploadId"][0]


@dataclass(frozen=True)
class Committed:
    """A job that only lacks its mosaic. ``proxy`` has seen nothing yet."""

    place: Place
    job_id: str
    proxy: Proxy

    @property
    def key(self) -> str:
        return keys.mosaic_key(self.job_id)

    def start(self, run_id: str, lease_s: float = 1.0) -> Fork:
        given = [self.job_id, self.place.root, self.place.manifest, run_id]
        env = {**os.environ, **self.place.env, "SCENEMOSAIC_CLAIM_LEASE_S": str(lease_s)}
        return forks().start("tests.jobs.assemble_job", given, REPOSITORY, env)

    def assemble(self, run_id: str) -> job.MosaicResult:
        spec = job.load_job(self.job_id, self.place.root, self.place.manifest)
        return job.assemble(spec, job.Run(run_id, run_id))

    def seen(self, chosen: Callable[[Request], bool]) -> list[Request]:
        return [request for request in self.proxy.requests if chosen(request)]

    def wait_for(self, chosen: Callable[[Request], bool], deadline_s: float = 60) -> None:
        end = time.monotonic() + deadline_s
        while not self.seen(chosen):
            assert time.monotonic() < end, "the request never came"
            time.sleep(0.02)

    def claim(self) -> dict[str, Any]:
        """The claim's row as the table holds it, past the adapters."""
        key = {
            "job_id": {"S": keys.claim_partition(self.job_id, self.place.root)},
            "window": {"S": "assembly"},
        }
        table = self.place.manifest.removeprefix("dynamodb://")
        found = client(self.place, "dynamodb").get_item(
            TableName=table, Key=key, ConsistentRead=True
        )
        return dict(found["Item"])

    def put_by_hand(self, key: str, data: bytes, **metadata: str) -> None:
        parts = urlsplit(self.place.root)
        full = f"{parts.path.strip('/')}/{key}"
        client(self.place, "s3").put_object(
            Bucket=parts.netloc, Key=full, Body=data, Metadata=metadata
        )

    def begin_by_hand(self, key: str) -> str:
        parts = urlsplit(self.place.root)
        made = client(self.place, "s3").create_multipart_upload(
            Bucket=parts.netloc, Key=f"{parts.path.strip('/')}/{key}"
        )
        return str(made["UploadId"])

    def end_by_hand(self, key: str, upload_id: str) -> None:
        parts = urlsplit(self.place.root)
        full = f"{parts.path.strip('/')}/{key}"
        client(self.place, "s3").abort_multipart_upload(
            Bucket=parts.netloc, Key=full, UploadId=upload_id
        )

    def check(self, folder: Path, still_open: Sequence[str] = ()) -> None:
        """One version of each key, a valid mosaic, and no upload open but ``still_open``."""
        prefix = urlsplit(self.place.root).path.strip("/")
        assert self.place.uploads() == [f"{prefix}/{key}" for key in still_open]
        versions = self.place.versions()
        assert sorted(key for key in versions if not key.startswith("preflight/")) == sorted(
            [
                keys.plan_key(self.job_id),
                *(keys.tile_key(self.job_id, name) for name in ("0000_0000", "0000_0001")),
                *(self.key, keys.preview_key(self.job_id), keys.item_key(self.job_id)),
            ]
        )
        assert all(len(found) == 1 for found in versions.values())
        parts = urlsplit(self.place.root)
        path = folder / "mosaic.tif"
        client(self.place, "s3").download_file(parts.netloc, f"{prefix}/{self.key}", str(path))
        assert path.stat().st_size > 10 << 20
        assert_valid_cog(path)


def mosaic_of(source: Path, folder: Path) -> bytes:
    """The bytes of the job's mosaic, made on a local root."""
    spec = job.plan_job([str(source)], str(folder / "root"), None, PlanOptions(window=WINDOW))
    run = job.Run("local", "local")
    job.prepare(spec)
    job.publish_plan(spec, run)
    job.commit_windows(spec, job.missing_windows(spec), run)
    job.assemble(spec, run)
    return (folder / "root" / keys.mosaic_key(spec.plan.job_id)).read_bytes()


def commit_all(place: Place, source: Path) -> str:
    """Commit every window of a job; the job's ID. The environment leads to the place."""
    spec = job.plan_job([str(source)], place.root, place.manifest, PlanOptions(window=WINDOW))
    run = job.Run("windows", "windows")
    job.prepare(spec)
    job.publish_plan(spec, run)
    job.commit_windows(spec, job.missing_windows(spec), run)
    return spec.plan.job_id

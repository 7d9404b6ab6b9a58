"""Places for jobs: a local root, and S3 with DynamoDB on a versioned bucket."""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import rasterio

from tests import servers
from tests.faults.proxy import Proxy
from tests.jobs.assembling import Committed, commit_all, write_noise
from tests.jobs.places import LEASE_S, MakePlace, Place


@pytest.fixture
def local_place(tmp_path_factory: pytest.TempPathFactory) -> MakePlace:
    def make() -> Place:
        top = tmp_path_factory.mktemp("root")
        return Place(top.as_uri(), f"sqlite:///{top}/manifest.db")

    return make


@pytest.fixture
def s3_place(ministack: str) -> MakePlace:
    def make() -> Place:
        bucket = servers.make_bucket(ministack, versioned=True)
        table = servers.fresh_table_name()
        env = {"AWS_ENDPOINT_URL": ministack}
        return Place(f"s3://{bucket}/some/root", f"dynamodb://{table}", env)

    return make


@pytest.fixture(params=["local", "s3"])
def make_place(request: pytest.FixtureRequest) -> MakePlace:
    make: MakePlace = request.getfixturevalue(f"{request.param}_place")
    return make


def write_scene(path: Path, height: int, width: int, bands: int = 1, seed: int = 0) -> Path:
    """A smooth, noisy uint16 scene with a nodata corner."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width]
    base = 3000 + 1500 * np.sin(x / 90) + 900 * np.cos(y / 70)
    pixels = np.stack([base + 100 * b + rng.normal(0, 20, base.shape) for b in range(bands)])
    pixels = pixels.astype(np.uint16)
    pixels[:, : height // 5, : width // 4] = 0
    with rasterio.open(
        path, "w", driver="GTiff", height=height, width=width, count=bands, dtype="uint16",
        nodata=0, crs="EPSG:32631", transform=rasterio.Affine(10, 0, 5e5, 0, -10, 5e6),
        tiled=True, compress="deflate",
    ) as dataset:  # fmt: skip
        dataset.write(pixels)
    return path


@pytest.fixture(scope="session")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """1300 x 1100 pixels: nine windows of 512."""
    return write_scene(tmp_path_factory.mktemp("scene") / "scene.tif", 1300, 1100)


@pytest.fixture
def new_scene(tmp_path: Path) -> Callable[..., Path]:
    def make(height: int, width: int, bands: int = 1) -> Path:
        return write_scene(tmp_path / f"{height}x{width}x{bands}.tif", height, width, bands)

    return make


@pytest.fixture(scope="session")
def noise(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_noise(tmp_path_factory.mktemp("noise") / "noise.tif")


@pytest.fixture
def committed(
    s3_place: MakePlace, noise: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Committed]:
    """A job on S3 and DynamoDB whose windows are committed, behind a proxy."""
    direct = s3_place()
    endpoint = direct.env["AWS_ENDPOINT_URL"]
    with Proxy(endpoint) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.url)
        monkeypatch.setenv("SCENEMOSAIC_CLAIM_LEASE_S", LEASE_S)
        env = {"AWS_ENDPOINT_URL": proxy.url, "DIRECT": endpoint}
        place = Place(direct.root, direct.manifest, env)
        job_id = commit_all(place, noise)
        proxy.clear()
        yield Committed(place, job_id, proxy)

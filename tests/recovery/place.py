"""A scene's root behind a gate, and what must be true of it however its runs ended."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import rasterio

from scenemosaic import keys
from tests import servers
from tests.flows.scenes import BLOCK, WINDOW, make_scene
from tests.recovery.gate import Gate, Gates, is_tile_put, until

WINDOWS = 12
OBJECTS = ("jobs", "tiles", "mosaics")
WORKERS = 2


@dataclass(frozen=True)
class Place:
    """One scene and one root, a versioned bucket and a table that are this test's alone."""

    scene: Path
    bucket: str
    table: str
    endpoint: str  # of the store itself, past the proxy
    gate: Gate
    gates: Gates

    @property
    def root(self) -> str:
        return f"s3://{self.bucket}/root"

    @property
    def manifest(self) -> str:
        return f"dynamodb://{self.table}"

    def given(self, **more: Any) -> dict[str, Any]:
        """The parameters of ``process-scene``: a window a task run, so that kills meet many."""
        where = {"to": self.root, "manifest": self.manifest}
        limits = {"workers": WORKERS, "windows_per_task": 1}
        recipe = {"window": WINDOW, "block_size": BLOCK}
        return {"sources": [str(self.scene)], "recipe": recipe, **where, **limits, **more}

    def rows(self) -> dict[str, str]:
        """Each window's row, the mosaic's too: who wrote it."""
        dynamodb = servers.aws_client("dynamodb", self.endpoint)
        try:
            found = dynamodb.scan(TableName=self.table, ConsistentRead=True)["Items"]
        except dynamodb.exceptions.ResourceNotFoundException:
            return {}
        items = [item for item in found if "@" in item["job_id"]["S"] and "window" in item]
        items = [item for item in items if "output_uri" in item]
        rows = {item["window"]["S"]: item["written_by"]["S"] for item in items}
        assert len(rows) == len(items), "one row a window"
        return rows

    def windows(self) -> dict[str, str]:
        return {name: by for name, by in self.rows().items() if name != keys.MOSAIC_ROW}

    def wait_for_rows(self, count: int) -> dict[str, str]:
        """The windows' rows, once there are so many."""
        return until(
            lambda: f"{count} rows in {self.table}, which has {self.rows()}",
            lambda: rows if len(rows := self.windows()) >= count else None,
        )

    def objects(self) -> dict[str, list[dict[str, Any]]]:
        """Every version of every contract key below the root; there is no delete marker."""
        s3, found = servers.aws_client("s3", self.endpoint), {}
        for page in s3.get_paginator("list_object_versions").paginate(Bucket=self.bucket):
            assert not page.get("DeleteMarkers")
            for one in page.get("Versions", ()):
                key = one["Key"].removeprefix("root/")
                if key.split("/")[0] in OBJECTS:
                    found.setdefault(key, []).append(one)
        return found

    def is_published(self) -> bool:
        return any(key.endswith("/item.json") for key in self.objects())

    def tile_puts(self) -> Counter[str]:
        """How often each window's PUT was sent, by whichever run."""
        seen = [one for one in self.gates.proxy.requests if is_tile_put(one, self.bucket)]
        return Counter(Path(one.path).stem for one in seen)


def check_done(place: Place, said: dict[str, int] | None = None) -> None:
    """DESIGN's invariants of a finished scene.

    ``said``: what each run that came to its end says it wrote. What runs wrote that were
    killed before they could say it stands in the objects: together that is every window.
    """
    objects, windows = place.objects(), place.windows()
    assert len(windows) == WINDOWS, windows
    kinds = Counter(key.split("/")[0] for key in objects)
    assert kinds == {"jobs": 1, "tiles": WINDOWS, "mosaics": 3}, sorted(objects)
    assert {len(versions) for versions in objects.values()} == {1}, "one version a key"
    s3 = servers.aws_client("s3", place.endpoint)
    assert not s3.list_multipart_uploads(Bucket=place.bucket).get("Uploads")
    _check_pixels(place, next(key for key in objects if key.endswith("/mosaic.tif")))
    wrote = _writers(place, [key for key in objects if key.startswith("tiles/")])
    assert sum(wrote.values()) == WINDOWS
    for run_id, count in (said or {}).items():
        assert wrote[run_id] == count, (run_id, wrote, said)


def _writers(place: Place, tiles: list[str]) -> Counter[str]:
    """How many tiles each run wrote, as their objects say."""
    s3 = servers.aws_client("s3", place.endpoint)
    heads = [s3.head_object(Bucket=place.bucket, Key=f"root/{key}") for key in tiles]
    return Counter(head["Metadata"]["write_id"].rpartition("/")[0] for head in heads)


def _check_pixels(place: Place, key: str) -> None:
    body = servers.aws_client("s3", place.endpoint).get_object(
        Bucket=place.bucket, Key=f"root/{key}"
    )["Body"]
    with (
        rasterio.MemoryFile(body.read()) as held,
        held.open() as mosaic,
        rasterio.open(place.scene) as scene,
    ):
        np.testing.assert_array_equal(mosaic.read(), scene.read())
        assert (mosaic.crs, mosaic.transform) == (scene.crs, scene.transform)


def make_place(folder: Path, gates: Gates, endpoint: str, seed: int = 1) -> Place:
    scene = make_scene(folder / f"scene-{seed}.tif", seed=seed)
    bucket, table = servers.make_bucket(endpoint, versioned=True), servers.fresh_table_name()
    return Place(scene, bucket, table, endpoint, gates.of(bucket), gates)

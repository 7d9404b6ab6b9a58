"""DESIGN's invariants 4 and 5, checked as things land, as workers end, and when all is quiet."""

import functools
from typing import TYPE_CHECKING

import numpy as np
from rasterio.io import MemoryFile

from scenemosaic import keys
from scenemosaic.errors import TransientStoreError
from scenemosaic.manifests.port import Row
from scenemosaic.publishing.publish import MosaicResult
from tests.faults.model import job as model_job
from tests.faults.model.gate import Death
from tests.faults.model.ports import ModelManifest, ModelStore, Version
from tests.faults.model.s3 import Uploads

if TYPE_CHECKING:
    from tests.faults.model.world import Worker, World


class Violation(AssertionError):
    """An invariant does not hold."""


class Checks:
    """Watches one store and one manifest. Violations are kept until :meth:`settled` raises them."""

    def __init__(self, store: ModelStore, manifest: ModelManifest) -> None:
        self.store, self.manifest = store, manifest
        self.uploads = Uploads()
        self.violations: list[str] = []
        self._judged: set[int] = set()
        store.landed, manifest.landed = self._object_landed, self._row_landed
        self._job_id = model_job.plan().job_id
        self._mosaic = keys.mosaic_key(self._job_id)
        self._partition = keys.partition(self._job_id, store.uri)

    def expect(self, holds: bool, otherwise: str) -> None:
        if not holds:
            self.violations.append(otherwise)

    def settled(self, world: "World") -> None:
        """After each step: raises what was found, with the whole story."""
        for worker in world.workers:
            if worker.ended and worker.number not in self._judged:
                self._judged.add(worker.number)
                self._ended(worker, world)
        if self.violations:
            raise Violation("\n".join([*self.violations, *world.history]))

    def _object_landed(self, key: str) -> None:
        self.expect(len(self.store.history[key]) == 1, f"{key} was written again")
        if key == self._mosaic:
            missing = [name for name in model_job.names() if self._rows(name) == []]
            self.expect(missing == [], f"a mosaic while {missing} have no row")
        if key == keys.item_key(self._job_id):
            published = self._mosaic in self.store.history and self._rows(keys.MOSAIC_ROW) != []
            self.expect(published, "an item before its mosaic and the mosaic's row")
            preview = keys.preview_key(self._job_id)
            self.expect(preview in self.store.history, "an item before its preview")

    def _rows(self, window: str) -> list[Row]:
        return self.manifest.history.get((self._partition, window), [])

    def _row_landed(self, row: Row) -> None:
        if row.partition != self._partition:
            return  # a claim, which changes, or preflight's own
        self.expect(len(self._rows(row.window)) == 1, f"a second row {row.window}")
        self.expect(row.revision == 1, f"revision {row.revision} of row {row.window}")
        mosaic = row.window == keys.MOSAIC_ROW
        key = self._mosaic if mosaic else keys.tile_key(self._job_id, row.window)
        stored = self.store.history.get(key)
        if stored is None:
            self.violations.append(f"row {row.window} without its object")
            return
        self._describes(row, stored[-1])
        if not mosaic:
            self._describes_tile(row, stored[-1])

    def _describes(self, row: Row, version: Version) -> None:
        info = version.info
        said = (row.output_uri, row.etag, row.version_id, row.bytes)
        true = (self.store.object_uri(info.key), info.etag, info.version_id, info.size_bytes)
        self.expect(said == true, f"row {row.window} says {said}, stored is {true}")

    def _describes_tile(self, row: Row, version: Version) -> None:
        tile = model_job.by_sha256()[version.info.metadata["sha256"]]
        said = (row.sha256, row.blocks, row.crc)
        true = (tile.sha256, tile.blocks, tile.crc)
        self.expect(said == true, f"row {row.window} describes other bytes than are stored")

    def _ended(self, worker: "Worker", world: "World") -> None:
        name = f"worker {worker.number}"
        if isinstance(worker.error, TransientStoreError):
            enough = worker.struck["faults"] >= world.policy.attempts
            self.expect(enough, f"{name} gave up after {worker.struck}: {worker.error}")
        elif worker.error is not None and not isinstance(worker.error, Death):
            self.expect(False, f"{name} failed: {worker.error!r}")
        for outcome in worker.outcomes:
            self._told_the_truth(worker, outcome.window, outcome.outcome)
        if worker.error is None:
            self._counts_add_up(worker)
            self._mosaic_outcome(worker, world)

    def _told_the_truth(self, worker: "Worker", window: str, outcome: str) -> None:
        """Written is what the one version's writer reports, and nobody else."""
        own = self._is_own(worker, keys.tile_key(self._job_id, window), window)
        said = f"worker {worker.number} said {outcome} of {window}"
        self.expect(outcome == ("written" if own else "already-present"), said)

    def _is_own(self, worker: "Worker", key: str, name: str) -> bool:
        (version, *_) = self.store.history.get(key) or [None]
        return version is not None and version.info.metadata["write_id"] == (
            worker.run.write_id(name)
        )

    def _counts_add_up(self, worker: "Worker") -> None:
        if not worker.struck["batch"]:
            return
        struck, told = worker.struck, [outcome.outcome for outcome in worker.outcomes]
        pairs = {
            "written": told.count("written"),
            "already_present": told.count("already-present"),
            "failed": 0,
            "ambiguous": struck["tile ambiguous"],
            "conflict_409_retried": struck["tile 409"],
        }
        for counter, expected in pairs.items():
            counted = struck[f"counted {counter}"]
            said = f"worker {worker.number}: {counter} is {counted}, not {expected}"
            self.expect(counted == expected, said)

    def _mosaic_outcome(self, worker: "Worker", world: "World") -> None:
        if not isinstance(worker.result, MosaicResult):
            return
        said = worker.result.outcome
        own = self._is_own(worker, self._mosaic, keys.MOSAIC_ROW)
        twins = [other for other in world.workers if other.run == worker.run]
        told = f"worker {worker.number} said {said} of the mosaic"
        self.expect(said == "already-present" or (said == "written" and own), told)
        self.expect(said == "written" or not own or len(twins) > 1, told)
        found = self.store.head(self._mosaic)
        self.expect(found is not None and worker.result.etag == found.etag, f"{told}: other ETag")

    def complete(self, world: "World") -> None:
        """All is quiet, and a last run met no fault: everything is there once, and right."""
        self.expect(world.workers[-1].error is None, "the last run failed")
        wanted = [keys.plan_key(self._job_id), self._mosaic, keys.preview_key(self._job_id)]
        wanted += [keys.tile_key(self._job_id, name) for name in model_job.names()]
        wanted.append(keys.item_key(self._job_id))
        audited = {key for key in self.store.history if keys.audit_number(key)}
        stored = sorted(set(self.store.history) - {keys.PROBE_KEY} - audited)
        self.expect(stored == sorted(wanted), f"{stored} are other keys than the contract's")
        left = [name for name, upload in self.uploads.open.items() if not upload.doomed]
        self.expect(left == [], f"uploads {left} are still open")
        rows = {name: len(self._rows(name)) for name in [*model_job.names(), keys.MOSAIC_ROW]}
        self.expect(set(rows.values()) == {1}, f"rows: {rows}")
        if self._mosaic in self.store.history:
            data = self.store.history[self._mosaic][-1].data
            self.expect(_is_scene(data), "the mosaic holds other pixels")
        self._written_once(world)
        self._audited(audited)
        self.settled(world)

    def _audited(self, batches: set[str]) -> None:
        """The numbers have no gap, and no batch stands there twice."""
        numbers = sorted(map(keys.audit_number, batches))
        self.expect(numbers == list(range(1, len(batches) + 1)), f"audit batches {numbers}")
        said = {self.store.history[key][-1].data for key in batches}
        self.expect(len(said) == len(batches), "a batch of the audit log stands there twice")

    def _written_once(self, world: "World") -> None:
        """Over all runs: at most one reports a window written; one does, where its writer ended."""
        for window in model_job.names():
            said = {
                worker.run.run_id
                for worker in world.workers
                for outcome in worker.outcomes
                if (outcome.window, outcome.outcome) == (window, "written")
            }
            self.expect(len(said) <= 1, f"{window} was written by {said}")


@functools.lru_cache(maxsize=256)
def _is_scene(data: bytes) -> bool:
    with MemoryFile(data) as memory, memory.open(driver="GTiff") as dataset:
        return bool(np.array_equal(dataset.read(), model_job.pixels()))

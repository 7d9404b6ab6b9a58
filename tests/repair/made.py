"""A small job that is finished, and a way past the adapters to what it stored."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from scenemosaic import job, keys
from scenemosaic.auditing import audit
from scenemosaic.manifests.port import Row
from scenemosaic.planning import PlanOptions
from scenemosaic.repair import engine
from scenemosaic.repair.engine import RepairReport
from scenemosaic.session import JobSpec, Run, Session, open_session
from scenemosaic.stores.port import ObjectInfo
from scenemosaic.tile import EncodedTile
from scenemosaic.windows import make_tile, tile_row
from tests.jobs.places import Place, client

WINDOW = 64
MAKER, REPAIRER, OTHER = (
    Run(name, name, f"{name}@here") for name in ("maker", "repairer", "other")
)


@dataclass(frozen=True)
class Made:
    """``spec`` knows where the source lies; a repair has to find that out by itself."""

    place: Place
    spec: JobSpec
    scene: Path

    @property
    def session(self) -> Session:
        return open_session(self.spec)

    @property
    def job_id(self) -> str:
        return self.spec.plan.job_id

    def number(self, name: str) -> int:
        return self.spec.plan.recipe.tiling().number(name)

    def tile_key(self, name: str) -> str:
        return keys.tile_key(self.job_id, name)

    def row(self, name: str) -> Row | None:
        return self.session.manifest.get(self.session.partition(self.spec), name)

    def stored(self, key: str) -> ObjectInfo:
        info = self.session.store.head(key)
        assert info is not None
        return info

    def tile(self, name: str) -> EncodedTile:
        """The tile as its source makes it."""
        return make_tile(self.spec, self.spec.plan.recipe.tiling().window(self.number(name)))

    def commit(self, *without: str) -> None:
        missing = set(job.missing_windows(self.spec))
        job.commit_windows(self.spec, missing - {self.number(name) for name in without}, MAKER)

    def assemble(self, run: Run = MAKER) -> job.MosaicResult:
        return job.assemble(self.spec, run)

    def repair(
        self, *names: str, run: Run = REPAIRER, sources: Sequence[str] | None = None
    ) -> RepairReport:
        """A whole repair, as the command line composes it."""
        spec = job.load_job(self.job_id, self.spec.root, self.spec.manifest)
        given = [str(self.scene)] if sources is None else sources
        found = engine.survey(spec, names, given)
        return engine.carry_out(
            found,
            lambda of: engine.repair_windows(of.spec, of.numbers, run, named=of.named).outcomes,
            lambda renew: job.assemble(spec, run, renew=renew),
        )

    def item(self) -> dict[str, Any]:
        return dict(json.loads(self.read(keys.item_key(self.job_id))))

    def records(self, event: str) -> list[audit.Record]:
        found = audit.read(self.session, self.job_id)
        return [entry.record for entry in found if entry.record.event == event]

    def row_describes(self, name: str) -> None:
        """The row is about the very object that stands."""
        row, info = self.row(name), self.stored(self.tile_key(name))
        assert row is not None
        assert (row.etag, row.version_id, row.bytes) == (
            info.etag,
            info.version_id,
            info.size_bytes,
        )
        assert row.sha256 == hashlib.sha256(self.read(self.tile_key(name))).hexdigest()

    def new_row(self, name: str, tile: EncodedTile, stored: ObjectInfo, run: Run) -> Row:
        return tile_row(self.session, self.spec, self.number(name), tile, stored, run)

    # -- past the adapters

    @property
    def _on_s3(self) -> bool:
        return self.place.root.startswith("s3://")

    def path(self, key: str) -> Path:
        return Path(unquote(urlsplit(self.place.root).path)) / key

    def _at(self, key: str) -> dict[str, str]:
        parts = urlsplit(self.place.root)
        return {"Bucket": parts.netloc, "Key": f"{parts.path.strip('/')}/{key}"}

    def read(self, key: str) -> bytes:
        if self._on_s3:
            return bytes(client(self.place, "s3").get_object(**self._at(key))["Body"].read())
        return self.path(key).read_bytes()

    def overwrite(self, key: str, data: bytes, **metadata: str) -> None:
        if self._on_s3:
            client(self.place, "s3").put_object(**self._at(key), Body=data, Metadata=metadata)
        else:
            self.path(key).write_bytes(data)

    def damage(self, key: str) -> bytes:
        """Flip a bit; the bytes as they are now."""
        data = bytearray(self.read(key))
        data[-20] ^= 1
        self.overwrite(key, bytes(data))
        return bytes(data)

    def delete(self, key: str) -> None:
        if self._on_s3:
            client(self.place, "s3").delete_object(**self._at(key))
        else:
            self.path(key).unlink()


def make(place: Place, scene: Path, *without: str, window: int = WINDOW, **asked: Any) -> Made:
    """A job whose windows are committed but for some, and assembled where none is missing."""
    options = PlanOptions(window=window, block_size=WINDOW, **asked)
    spec = job.plan_job([str(scene)], place.root, place.manifest, options)
    job.prepare(spec)
    job.publish_plan(spec, MAKER)
    made = Made(place, spec, scene)
    made.commit(*without)
    if not without:
        made.assemble()
    return made

"""Checks of a manifest's conditions: inserts where absent, changes of a known revision."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from scenemosaic import keys
from scenemosaic.errors import PermanentStoreError
from scenemosaic.manifests.port import (
    Existing,
    Inserted,
    LongConditions,
    Manifest,
    Row,
    Stale,
    Updated,
)
from scenemosaic.preflight.ground import Ground, Stored, Write
from scenemosaic.preflight.report import Finding, Verdict
from scenemosaic.stores.port import Answer
from scenemosaic.waiting.retry import retrying

_ANSWERS: dict[type[Inserted | Existing | Updated | Stale], Answer] = {
    Inserted: Answer.WRITTEN,
    Existing: Answer.REFUSED,
    Updated: Answer.WRITTEN,
    Stale: Answer.REFUSED,
}
# Longer rows leave more room between a database's look and its write.
_PADDING_BYTES = (0, 4 << 10)


@dataclass
class Rows:
    """One preflight's rows; ``made`` names every row that may have come to be."""

    ground: Ground
    manifest: Manifest
    written_at: str
    made: dict[str, None] = field(default_factory=dict)

    @property
    def partition(self) -> str:
        return keys.probe_partition(self.ground.token)

    def row(self, name: str, mark: str, padding: int = 0) -> Row:
        self.made[name] = None
        return probe_row(self.partition, name, mark, self.written_at, padding)

    def insert(self, name: str, padding: int = 0) -> Write:
        return lambda mark: _ANSWERS[type(self.manifest.insert(self.row(name, mark, padding)))]

    def insert_at_length(self, manifest: LongConditions, name: str) -> Write:
        return lambda mark: _ANSWERS[type(manifest.insert_at_length(self.row(name, mark)))]

    def replace(self, name: str, revision: int, padding: int = 0) -> Write:
        return lambda mark: _ANSWERS[
            type(self.manifest.replace(self.row(name, mark, padding), revision))
        ]

    def start(self, name: str) -> Row:
        """A row to start from. Raises SceneMosaicError where it cannot be made."""

        def insert() -> Inserted | Existing:
            return self.manifest.insert(self.row(name, "first"))

        # Nobody else has the key: what stands there after a lost reply is this very row.
        retrying(insert, self.ground.policy, self.ground.effects)
        stands = self.get(name)
        if stands is None or stands.written_by != "first":
            raise PermanentStoreError(f"{self.manifest.url}: a first row was not kept")
        return stands

    def get(self, name: str) -> Row | None:
        return retrying(
            lambda: self.manifest.get(self.partition, name),
            self.ground.policy,
            self.ground.effects,
        )

    def stored(self, name: str) -> Stored:
        """Reads the mark that is stored; empty where row and mark do not belong together."""

        def read() -> str | None:
            row = self.get(name)
            if row is None:
                return None
            whole = row.etag == row.written_by and set(row.blocks or b"") <= {ord(row.etag[-1])}
            return row.etag if whole else ""

        return read

    def untouched(self, stands: Row, write: Write, what: str) -> Finding:
        """Whether ``write`` is refused, and leaves the row as it is."""
        if self.ground.surely("manifest", "intruder", write) is Answer.WRITTEN:
            return Finding(Verdict.IGNORED, f"{what} was accepted")
        if self.get(stands.window) != stands:
            return Finding(Verdict.IGNORED, f"{what} was refused, and yet changed the row")
        return Finding(Verdict.ENFORCED, f"{what} was refused")


def probe_row(partition: str, name: str, mark: str, written_at: str, padding: int = 0) -> Row:
    """A row that says nothing of any output; ``mark`` tells it from others."""
    return Row(
        partition=partition,
        window=name,
        output_uri="",
        bytes=0,
        sha256=None,
        etag=mark,
        version_id=None,
        blocks=mark[-1:].encode() * padding or None,
        crc=(),
        revision=1,
        written_by=mark,
        written_at=written_at,
    )


RowCheck = Callable[[Rows], Finding]


def insert_again(rows: Rows) -> Finding:
    stands = rows.start("insert")
    return rows.untouched(stands, rows.insert("insert"), "a second insert")


def insert_race(rows: Rows) -> Finding:
    def prepare(number: int) -> tuple[Write, Stored]:
        name = f"insert-race-{number:04d}"
        padding = _PADDING_BYTES[number % len(_PADDING_BYTES)]
        return rows.insert(name, padding), rows.stored(name)

    return rows.ground.race("manifest", rows.ground.rounds, prepare)


def insert_race_at_length(rows: Rows) -> Finding:
    """The race that a look and a later write cannot hide from: between them lies the judging."""
    manifest = rows.manifest
    if not isinstance(manifest, LongConditions):
        return Finding(Verdict.NOT_OFFERED, "no condition can be made longer here")

    def prepare(number: int) -> tuple[Write, Stored]:
        name = f"insert-long-race-{number:04d}"
        return rows.insert_at_length(manifest, name), rows.stored(name)

    return rows.ground.race("manifest", rows.ground.rounds, prepare)


def replace_stale(rows: Rows) -> Finding:
    first = rows.start("replace")
    second = rows.manifest.replace(replace(first, etag="second", written_by="second"), 1)
    stands = rows.get("replace")
    if not isinstance(second, Updated) or stands is None:
        raise PermanentStoreError(f"{rows.manifest.url}: a first change of a row was refused")
    return rows.untouched(stands, rows.replace("replace", 1), "a change of an old revision")


def replace_race(rows: Rows) -> Finding:
    def prepare(number: int) -> tuple[Write, Stored]:
        name = f"replace-race-{number:04d}"
        stands = rows.start(name)
        padding = _PADDING_BYTES[number % len(_PADDING_BYTES)]
        return rows.replace(name, stands.revision, padding), rows.stored(name)

    return rows.ground.race("manifest", rows.ground.rounds, prepare)

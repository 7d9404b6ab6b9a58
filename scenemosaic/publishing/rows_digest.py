"""What a mosaic was built from, in one word: the digest of its windows' rows."""

import hashlib
from collections.abc import Iterable
from typing import Final

from scenemosaic.canonical import encode
from scenemosaic.keys import MOSAIC_ROW
from scenemosaic.manifests.port import Row

_AT_ONCE: Final = 1000
RowFact = tuple[str, str | None, int, str | None]


def row_fact(row: Row) -> RowFact:
    """What of a window's row decides the mosaic: window, SHA-256 and size of its tile, waiver."""
    return row.window, row.sha256, row.bytes, row.waiver


def facts_digest(facts: Iterable[RowFact]) -> str:
    """The SHA-256 of the canonical JSON of all facts, ordered by their windows' names."""
    ordered = sorted(facts, key=lambda fact: fact[0])
    digest, comma = hashlib.sha256(b"["), b""
    for start in range(0, len(ordered), _AT_ONCE):  # the text of all would take megabytes
        part = encode([list(fact) for fact in ordered[start : start + _AT_ONCE]])
        digest.update(comma + part[1:-1])
        comma = b","
    digest.update(b"]")
    return digest.hexdigest()


def rows_digest(rows: Iterable[Row]) -> str:
    """The digest of all windows' rows, in whatever order they come; the mosaic's is left out."""
    return facts_digest(row_fact(row) for row in rows if row.window != MOSAIC_ROW)

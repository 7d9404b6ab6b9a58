"""The digest of rows: of what decides the mosaic, in whatever order they come."""

import hashlib
from dataclasses import replace

import pytest

from scenemosaic.manifests.port import Row
from scenemosaic.publishing.rows_digest import rows_digest

ROW = Row(
    partition="p", window="0000_0000", output_uri="u", bytes=5, sha256="ab", etag="e",
    version_id=None, blocks=None, crc=(1,), revision=1, written_by="w", written_at="t",
)  # fmt: skip
OTHER = replace(ROW, window="0000_0001", waiver="cloud")
MOSAIC = replace(ROW, window="mosaic", sha256=None)


def test_its_definition() -> None:
    text = '[["0000_0000","ab",5,null],["0000_0001","ab",5,"cloud"]]'
    assert rows_digest([OTHER, MOSAIC, ROW]) == hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize(
    "change", [{"window": "0000_0002"}, {"sha256": "cd"}, {"bytes": 6}, {"waiver": "bad source"}]
)
def test_what_counts(change: dict[str, object]) -> None:
    assert rows_digest([ROW, replace(OTHER, **change)]) != rows_digest([ROW, OTHER])


@pytest.mark.parametrize("change", [{"etag": "f"}, {"revision": 2}, {"written_by": "x"}])
def test_what_does_not(change: dict[str, object]) -> None:
    assert rows_digest([ROW, replace(OTHER, **change)]) == rows_digest([ROW, OTHER])

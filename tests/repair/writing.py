"""A live writer: another run that replaces a tile and its row, whoever else is at it."""

from unittest import mock

from scenemosaic import keys, windows
from scenemosaic.manifests.port import Updated
from scenemosaic.session import Run
from scenemosaic.stores.port import Answer, Body, IfAbsent, IfMatch, ObjectInfo
from scenemosaic.tile import EncodedTile
from tests.otherwise import encode_otherwise
from tests.repair.made import OTHER, Made


def other_bytes(made: Made, name: str) -> EncodedTile:
    """The window's own pixels, encoded otherwise."""
    with mock.patch.object(windows, "encode_tile", encode_otherwise):
        return made.tile(name)


def write_live(made: Made, name: str, tile: EncodedTile, run: Run = OTHER) -> ObjectInfo:
    """Replace what stands, whatever it is; then the row, as long as the object is this one."""
    store, key = made.session.store, made.tile_key(name)
    while True:
        before = store.head(key)
        condition = IfMatch(before.etag) if before else IfAbsent()
        name_of_change = f"{name}/{before.etag if before else ''}"
        metadata = made.session.metadata(made.spec, run, name_of_change, sha256=tile.sha256)
        body = Body(tile.data, tile.sha256, keys.TIFF_CONTENT_TYPE, metadata)
        written = store.put(key, body, condition)
        if written.answer is Answer.WRITTEN and written.info is not None:
            _write_row(made, name, tile, written.info, run)
            return written.info


def _write_row(made: Made, name: str, tile: EncodedTile, stored: ObjectInfo, run: Run) -> None:
    new = made.new_row(name, tile, stored, run)
    while True:
        row = made.row(name)
        assert row is not None
        if isinstance(made.session.manifest.replace(new, row.revision), Updated):
            return

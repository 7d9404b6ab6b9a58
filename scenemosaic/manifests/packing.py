"""Rows as flat columns, the same in every adapter. Pure, and exact both ways."""

import dataclasses
import functools
import json
import sys
from collections.abc import Mapping

from scenemosaic.errors import UnreadableRow
from scenemosaic.manifests.port import Row

Column = str | int | bytes | None

MAX_ROW_BYTES = 64 * 1024
PARTITION = "job_id"
_NUMBER_BYTES = 21  # DynamoDB's own upper bound for a number


def fitted(row: Row) -> Row:
    """The row as every adapter stores it: without ``blocks`` where it would pass 64 KB.

    Compare rows read back with this, not with the row that was handed in.
    """
    if row.blocks is None or size_bytes(row) <= MAX_ROW_BYTES:
        return row
    return dataclasses.replace(row, blocks=None)


def size_bytes(row: Row) -> int:
    """Size of the row as DynamoDB bills it, rounded up: names and values, UTF-8."""
    return sum(len(name) + _size_of(value) for name, value in pack(row).items())


def _size_of(value: Column) -> int:
    if isinstance(value, str):
        return len(value.encode())
    return len(value) if isinstance(value, bytes) else _NUMBER_BYTES


def pack(row: Row) -> dict[str, Column]:
    """Column name to value; ``crc`` and ``software`` as JSON text, None where not known."""
    columns: dict[str, Column] = {
        field.name: getattr(row, field.name)
        for field in dataclasses.fields(row)
        if field.name not in ("partition", "crc", "software")
    }
    columns["crc"] = json.dumps(row.crc, separators=(",", ":"))
    columns["software"] = json.dumps(
        dict(row.software), sort_keys=True, separators=(",", ":"), ensure_ascii=False
    )
    return {PARTITION: row.partition, **columns}


def unpack(columns: Mapping[str, Column]) -> Row:
    """The row of :func:`pack`; UnreadableRow, naming it, where it is not one of ours."""
    try:
        return _unpack(columns)
    except (TypeError, ValueError) as error:
        name = f"{columns.get('window')!r} of {columns.get(PARTITION)!r}"
        raise UnreadableRow(
            f"manifest row {name} was not written by this pipeline ({error}); "
            "remove it by hand if nothing else needs it"
        ) from error


def _unpack(columns: Mapping[str, Column]) -> Row:
    blocks = columns.get("blocks")
    return Row(
        # What many rows share is kept once: a job may have a hundred thousand of them.
        partition=sys.intern(_required(columns, PARTITION)),
        window=_required(columns, "window"),
        output_uri=_required(columns, "output_uri"),
        bytes=_integer(columns.get("bytes")),
        sha256=_text(columns.get("sha256")),
        etag=_required(columns, "etag"),
        version_id=_text(columns.get("version_id")),
        blocks=None if blocks is None else _binary(blocks),
        crc=tuple(_integer(value) for value in json.loads(_required(columns, "crc"))),
        revision=_integer(columns.get("revision")),
        written_by=sys.intern(_required(columns, "written_by")),
        written_at=sys.intern(_required(columns, "written_at")),
        software=_software(_text(columns.get("software")) or "{}"),
        waiver=_text(columns.get("waiver")),
    )


@functools.lru_cache(maxsize=64)
def _software(text: str) -> Mapping[str, str]:
    software = json.loads(text)
    if not isinstance(software, dict):
        raise TypeError(f"software is {software!r}")
    return {str(name): str(version) for name, version in software.items()}


def _text(value: Column) -> str | None:
    if value is None or isinstance(value, str):
        return value
    raise TypeError(f"{value!r} is not text")


def _required(columns: Mapping[str, Column], name: str) -> str:
    value = _text(columns.get(name))
    if value is None:
        raise ValueError(f"no {name}")
    return value


def _integer(value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise TypeError(f"{value!r} is not an integer")


def _binary(value: Column) -> bytes:
    if isinstance(value, bytes):
        return value
    raise TypeError(f"{value!r} is not binary")

"""What is wrong with an object, given what is known of it. Pure."""

from collections.abc import Iterator, Sequence

from scenemosaic.committing.commit import is_ours
from scenemosaic.keys import TIFF_CONTENT_TYPE
from scenemosaic.manifests.port import Row
from scenemosaic.stores.port import ObjectInfo
from scenemosaic.tiff.ifd import BadTiff
from scenemosaic.tiff.runs import unpack
from scenemosaic.verification.content import TileContent
from scenemosaic.verification.findings import Finding, Kind

NAMED = 4


def of_place(subject: str, row: Row, uri: str) -> Iterator[Finding]:
    """Where the row is of another object than that at ``uri``, its key's."""
    if row.output_uri != uri:
        yield Finding(subject, Kind.URI, f"its row describes {row.output_uri}, not {uri}")


def of_stored(subject: str, row: Row, info: ObjectInfo) -> Iterator[Finding]:
    """Where the store's word on an object is not the row's."""
    if info.size_bytes != row.bytes:
        yield differs(subject, Kind.SIZE, "it has", info.size_bytes, "bytes", row.bytes)
    if info.etag != row.etag:
        yield differs(subject, Kind.ETAG, "its ETag is", info.etag, "", row.etag)
    if info.version_id != row.version_id:
        yield differs(subject, Kind.VERSION, "its version is", info.version_id, "", row.version_id)


def differs(
    subject: str, kind: Kind, what: str, found: object, unit: str, expected: object
) -> Finding:
    """A finding that says what stands and what the row says."""
    unit = f" {unit}" if unit else ""
    return Finding(subject, kind, f"{what} {found}{unit}; the row says {expected}")


def of_tile(
    subject: str, job_id: str, row: Row | None, uri: str, info: ObjectInfo, content: TileContent
) -> Iterator[Finding]:
    """Everything that is wrong with a tile that stands at ``uri``."""
    if row is None:
        yield Finding(subject, Kind.MISSING_ROW, "a tile without a row")
    else:
        yield from of_place(subject, row, uri)
        yield from of_stored(subject, row, info)
        if content.sha256 != row.sha256:
            yield differs(subject, Kind.CHECKSUM, "its SHA-256 is", content.sha256, "", row.sha256)
        yield from _of_blocks(subject, row, content)
    as_row_says = row is not None and content.sha256 == row.sha256
    yield from of_metadata(subject, job_id, info, content.sha256, known=as_row_says)
    if content.problem is not None:
        yield Finding(subject, Kind.BLOCKS, f"no tile of this window: {content.problem}")
    yield from of_undecodable(subject, content.undecodable, len(content.undecodable))


def _of_blocks(subject: str, row: Row, content: TileContent) -> Iterator[Finding]:
    """One finding of all that the row says otherwise of the tile's inside."""
    if content.problem is not None:
        return
    try:
        wrong = [*_levels(row, content), *_packed(row, content)]
    except BadTiff as error:
        wrong = [str(error)]
    if wrong:
        text = f"the row says other {' and other '.join(wrong)}"
        yield Finding(subject, Kind.BLOCKS, text, of_row=True)


def _levels(row: Row, content: TileContent) -> Iterator[str]:
    """The levels whose bytes are others."""
    if len(row.crc) != len(content.crc):
        yield f"levels ({len(row.crc)}, not {len(content.crc)})"
        return
    pairs = zip(row.crc, content.crc, strict=True)
    if wrong := [str(k) for k, (a, b) in enumerate(pairs) if a != b]:
        yield f"bytes of level {', '.join(wrong)} (CRC-32)"


def _packed(row: Row, content: TileContent) -> Iterator[str]:
    """What the row says of the blocks, where it says any."""
    if row.blocks is None:
        return
    stated = unpack(row.blocks, [sizes.size for sizes in content.sizes])
    pairs = zip(stated.sizes, content.sizes, strict=True)
    if wrong := [str(k) for k, (a, b) in enumerate(pairs) if (a != b).any()]:
        yield f"block sizes of level {', '.join(wrong)}"
    if stated.header_crc not in (None, content.header_crc):
        yield "header (CRC-32)"
    rows_differ = stated.row_crcs is not None and stated.row_crcs.tolist() != [*content.row_crcs]
    if rows_differ and row.crc == content.crc:  # else it is said already
        yield "block rows (CRC-32)"


def of_metadata(
    subject: str,
    job_id: str,
    info: ObjectInfo,
    sha256: str | None,
    content_type: str = TIFF_CONTENT_TYPE,
    *,
    known: bool = False,
) -> Iterator[Finding]:
    """Whether an object's own metadata say that it is ours, and hold the checksum of its bytes.

    ``known``: its bytes are those of its row, so that only its metadata can be wrong.
    """
    stated = info.metadata.get("sha256")
    if not is_ours(info, {"job_id": job_id}):
        kind = Kind.METADATA if known else Kind.FOREIGN
        text = f"its metadata do not say that this pipeline wrote it for job {job_id}"
        yield Finding(subject, kind, f"{text} (ETag {info.etag})")
    elif sha256 is not None and stated != sha256:
        text = f"its metadata say SHA-256 {stated}; its bytes have {sha256}"
        yield Finding(subject, Kind.METADATA, text)
    elif info.content_type != content_type:
        text = f"its content type is {info.content_type!r}, not {content_type!r}"
        yield Finding(subject, Kind.METADATA, text)


def of_undecodable(subject: str, blocks: Sequence[str], count: int) -> Iterator[Finding]:
    """A finding for each of the first few of ``count`` blocks that do not decode."""
    for block in blocks[:NAMED]:
        yield Finding(subject, Kind.UNDECODABLE, block)
    if count > NAMED:
        text = f"{count - NAMED} more blocks do not decode either"
        yield Finding(subject, Kind.UNDECODABLE, text)

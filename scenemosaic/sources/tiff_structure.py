"""Whether a TIFF is whole: its directories and block tables against the file's size.

Reads directories alone, in either byte order, classic and Big. GDAL opens a
truncated file, drops a mask whose directory is cut off, and fails only at the
first block beyond the end.
"""

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

ReadAt = Callable[[int, int], bytes]
Integers = npt.NDArray[Any]

_TYPES: Final = {1: "u1", 2: "u1", 3: "u2", 4: "u4", 6: "i1", 7: "u1", 8: "i2", 9: "i4"}
_TYPES_BIG: Final = _TYPES | {12: "f8", 13: "u4", 16: "u8", 17: "i8", 18: "u8"}
_SUBFILE, _WIDTH, _HEIGHT, _BITS, _COMPRESSION, _SAMPLES = 254, 256, 257, 258, 259, 277
_STRIP_ROWS, _PLANAR, _TILE_WIDTH, _TILE_HEIGHT = 278, 284, 322, 323
_PHOTOMETRIC, _SUBSAMPLED = 262, 6
_SAMPLE_FORMAT, _NODATA = 339, 42113
_GEO_KEYS, _GEO_DOUBLES, _COORDINATE_EPOCH = 34735, 34736, 5120
_OFFSETS: Final = ((273, 279), (324, 325))
_WANTED: Final = {
    *(_SUBFILE, _WIDTH, _HEIGHT, _BITS, _COMPRESSION, _PHOTOMETRIC, _SAMPLES),
    *(_STRIP_ROWS, _PLANAR, _TILE_WIDTH, _TILE_HEIGHT, _SAMPLE_FORMAT, _NODATA),
    *(_GEO_KEYS, _GEO_DOUBLES),
    *(number for pair in _OFFSETS for number in pair),
}
_MASK: Final = 4
_MAX_DIRECTORIES: Final = 4096
_COMPLEX_INTEGER: Final = 5
_SEPARATE: Final = 2


class Truncated(Exception):
    """The file ends before something that its directories point to; says what."""


@dataclass(frozen=True, slots=True)
class TiffImage:
    """What one directory says of its image.

    ``nodata`` is GDAL's text, ``epoch`` the year of its coordinates; ``block_bytes`` is
    what one strip or tile takes when decoded, ``block_px`` its (width, height).
    """

    is_mask: bool
    compressed: bool
    block_px: tuple[int, int]
    block_bytes: int
    bits: tuple[int, ...]
    complex_integer: bool
    nodata: str | None
    epoch: float | None = None


@dataclass(frozen=True, slots=True)
class _Form:
    order: str
    big: bool

    def unpack(self, codes: str, data: bytes) -> tuple[int, ...]:
        return struct.unpack(self.order + codes, data)


def tiff_images(read_at: ReadAt, size_bytes: int) -> list[TiffImage]:
    """The images of a TIFF's main chain of directories, each checked to lie within the file.

    Raises Truncated. ``read_at(offset, size)`` may return less at the file's end.
    """
    source = _Source(read_at, size_bytes)
    return [_image(source, tags, number) for number, tags in enumerate(_directories(source))]


class _Source:
    """Bytes with bounds: reading past the end raises Truncated."""

    def __init__(self, read_at: ReadAt, size_bytes: int) -> None:
        self._read_at, self.size_bytes = read_at, size_bytes
        magic = self.read(0, 8, "header")
        self.form = _Form("<" if magic[:2] == b"II" else ">", magic[2:4] in (b"+\0", b"\0+"))
        self.first = self._first(magic)

    def _first(self, magic: bytes) -> int:
        if not self.form.big:
            return self.form.unpack("I", magic[4:8])[0]
        return self.form.unpack("Q", self.read(8, 8, "header"))[0]

    def read(self, offset: int, size: int, what: str) -> bytes:
        if offset + size > self.size_bytes:
            raise Truncated(
                f"its {what} lies at bytes {offset} to {offset + size} of {self.size_bytes}"
            )
        data = self._read_at(offset, size)
        if len(data) != size:
            raise Truncated(f"its {what} cannot be read at byte {offset}")
        return data


def _directories(source: _Source) -> Iterator[dict[int, Integers]]:
    position, seen = source.first, set[int]()
    while position and position not in seen and len(seen) < _MAX_DIRECTORIES:
        seen.add(position)
        tags, position = _directory(source, position)
        yield tags


def _directory(source: _Source, position: int) -> tuple[dict[int, Integers], int]:
    form = source.form
    count_code, entry_bytes, link = ("Q", 20, "Q") if form.big else ("H", 12, "I")
    head_bytes, link_bytes = struct.calcsize(count_code), struct.calcsize(link)
    (count,) = form.unpack(count_code, source.read(position, head_bytes, "directory"))
    body = source.read(position + head_bytes, count * entry_bytes + link_bytes, "directory")
    tags = {}
    for at in range(0, count * entry_bytes, entry_bytes):
        code = form.unpack("H", body[at : at + 2])[0]
        if code in _WANTED:
            tags[code] = _values(source, body[at : at + entry_bytes], code)
    return tags, form.unpack(link, body[-link_bytes:])[0]


def _values(source: _Source, entry: bytes, code: int) -> Integers:
    form = source.form
    kind, inline = form.unpack("H", entry[2:4])[0], 8 if form.big else 4
    word = "Q" if form.big else "I"
    (count,) = form.unpack(word, entry[4 : 4 + inline])
    if kind not in _TYPES_BIG:
        raise Truncated(f"its tag {code} is damaged (type {kind})")
    dtype = np.dtype(form.order + _TYPES_BIG[kind])
    data, size = entry[4 + inline :], dtype.itemsize * count
    if size > inline:
        data = source.read(form.unpack(word, data)[0], size, f"tag {code}")
    return np.frombuffer(data[:size], dtype)


def _image(source: _Source, tags: dict[int, Integers], number: int) -> TiffImage:
    for offsets, counts in _OFFSETS:
        if offsets in tags and counts in tags:
            _check_blocks(source, tags[offsets], _lengths(tags, tags[counts]), number)
    bits = tuple(int(bits) for bits in tags.get(_BITS, np.array([1])))
    width, height = _block_px(tags)
    samples = 1 if _first(tags, _PLANAR, 1) == _SEPARATE else _first(tags, _SAMPLES, 1)
    nodata = tags.get(_NODATA)
    text = None if nodata is None else nodata.tobytes().split(b"\0")[0].decode("ascii", "replace")
    return TiffImage(
        is_mask=bool(_first(tags, _SUBFILE, 0) & _MASK),
        compressed=_first(tags, _COMPRESSION, 1) != 1,
        block_px=(width, height),
        block_bytes=width * height * samples * max(bits, default=1) // 8,
        bits=bits,
        complex_integer=_first(tags, _SAMPLE_FORMAT, 1) == _COMPLEX_INTEGER,
        nodata=text,
        epoch=_epoch(tags),
    )


def _epoch(tags: dict[int, Integers]) -> float | None:
    """The GeoTIFF key of a dynamic CRS's epoch: keys are (number, tag, count, value or index)."""
    keys, doubles = tags.get(_GEO_KEYS), tags.get(_GEO_DOUBLES)
    if keys is None or doubles is None:
        return None
    for key, tag, count, index in keys[4 : len(keys) // 4 * 4].reshape(-1, 4).tolist():
        if (key, tag, count) == (_COORDINATE_EPOCH, _GEO_DOUBLES, 1) and index < len(doubles):
            return float(doubles[index])
    return None


def _lengths(tags: dict[int, Integers], counts: Integers) -> Integers:
    """The bytes of each block: at least what its pixels take where they are not compressed.

    libtiff then reads as many, whatever the file says. Blocks without bytes stay so.
    """
    compressed = _first(tags, _COMPRESSION, 1) != 1
    if compressed or _first(tags, _PHOTOMETRIC, 1) == _SUBSAMPLED or not len(counts):
        return counts
    width, height = _block_px(tags)
    planes = _first(tags, _SAMPLES, 1) if _first(tags, _PLANAR, 1) == _SEPARATE else 1
    rows = np.full(len(counts), height, np.uint64)
    last = _first(tags, _HEIGHT, 0) % height if _TILE_WIDTH not in tags and height else 0
    if last and 0 < planes <= len(counts):  # the last strip of each plane is shorter
        each = len(counts) // planes
        rows[each - 1 :: each] = last
    needed = rows * np.uint64(_row_bytes(tags, width, planes))
    return np.where(counts > 0, np.maximum(counts.astype(np.uint64), needed), 0)


def _row_bytes(tags: dict[int, Integers], width: int, planes: int) -> int:
    bits = _first(tags, _BITS, 1) * (_first(tags, _SAMPLES, 1) if planes == 1 else 1)
    return min(-(-width * bits // 8), 1 << 31)  # in a damaged file it may be anything


def _block_px(tags: dict[int, Integers]) -> tuple[int, int]:
    """(width, height) of a tile or strip."""
    width, height = _first(tags, _WIDTH, 0), _first(tags, _HEIGHT, 0)
    if _TILE_WIDTH in tags:
        return _first(tags, _TILE_WIDTH, 0), _first(tags, _TILE_HEIGHT, 0)
    return width, min(height, _first(tags, _STRIP_ROWS, height))


def _first(tags: dict[int, Integers], code: int, default: int) -> int:
    values = tags.get(code)
    return default if values is None or not len(values) else int(values[0])


def _check_blocks(source: _Source, offsets: Integers, counts: Integers, number: int) -> None:
    if len(offsets) != len(counts):
        raise Truncated(f"image {number} has {len(offsets)} block offsets and {len(counts)} sizes")
    # In unsigned 64 bits a damaged table could wrap round: compare without adding.
    size = np.uint64(source.size_bytes)
    starts, lengths = offsets.astype(np.uint64), counts.astype(np.uint64)
    beyond = (lengths > size) | (starts > size - np.minimum(lengths, size))
    beyond &= lengths > 0
    if beyond.any():
        block = int(np.argmax(beyond))
        end = int(starts[block]) + int(lengths[block])
        raise Truncated(
            f"{int(beyond.sum())} of {len(offsets)} blocks of image {number} lie beyond its "
            f"{source.size_bytes} bytes (the first ends at byte {end})"
        )

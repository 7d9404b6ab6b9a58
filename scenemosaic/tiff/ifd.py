"""Read and write TIFF directories (classic and BigTIFF, little-endian).

Source: TIFF 6.0 and the BigTIFF design note; GDAL's COG driver for the ghost
area in front of the first directory.
"""

import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from scenemosaic.errors import IncompleteError

SHORT, LONG, DOUBLE, LONG8 = 3, 4, 12, 16
TYPE_BYTES = {1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 6: 1, 7: 1, 8: 2, 9: 4, 10: 8, 11: 4, 12: 8}
TYPE_BYTES |= {13: 4, 16: 8, 17: 8, 18: 8}
_STRUCT = {1: "B", 3: "H", 4: "I", 6: "b", 8: "h", 9: "i", 11: "f", 12: "d", 13: "I", 16: "Q"}

NEW_SUBFILE_TYPE, IMAGE_WIDTH, IMAGE_LENGTH = 254, 256, 257
SAMPLES_PER_PIXEL, PLANAR_CONFIG = 277, 284
TILE_WIDTH, TILE_LENGTH, TILE_OFFSETS, TILE_BYTE_COUNTS = 322, 323, 324, 325
PIXEL_SCALE, TIE_POINT, TRANSFORMATION = 33550, 33922, 34264
GDAL_METADATA = 42112

_ARRAYS = frozenset({TILE_OFFSETS, TILE_BYTE_COUNTS})
_MAX_TAGS = 4096


class BadTiff(IncompleteError):
    """Bytes that should be one of our TIFF files, and are not."""

    kind = "bad-tiff"


@dataclass(frozen=True, slots=True)
class Tag:
    """One directory entry: TIFF type, count, and its value as little-endian bytes."""

    type: int
    count: int
    data: bytes

    @classmethod
    def of(cls, type_: int, values: Iterable[int | float]) -> "Tag":
        """A tag of numbers."""
        items = tuple(values)
        return cls(type_, len(items), struct.pack(f"<{len(items)}{_STRUCT[type_]}", *items))

    def values(self) -> tuple[int | float, ...]:
        """The numbers of the tag."""
        if self.type not in _STRUCT:
            raise BadTiff(f"TIFF type {self.type} holds no plain numbers")
        return struct.unpack(f"<{self.count}{_STRUCT[self.type]}", self.data)


Directory = Mapping[int, Tag]


@dataclass(frozen=True, slots=True)
class _Format:
    """What differs between classic TIFF and BigTIFF."""

    count: str
    entry_bytes: int
    inline_bytes: int
    offset: str

    @property
    def count_bytes(self) -> int:
        return struct.calcsize(f"<{self.count}")


_CLASSIC = _Format("H", 12, 4, "I")
_BIG = _Format("Q", 20, 8, "Q")


def parse(data: bytes) -> list[dict[int, Tag]]:
    """All directories of a TIFF whose directories lie within ``data`` (a prefix will do).

    Raises :class:`BadTiff` where ``data`` is no little-endian TIFF or ends too early.
    """
    fmt, position = _parse_header(data)
    directories: list[dict[int, Tag]] = []
    seen: set[int] = set()
    while position:
        if position in seen:
            raise BadTiff("the TIFF's directories form a loop")
        seen.add(position)
        directory, position = _parse_directory(data, position, fmt)
        directories.append(directory)
    return directories


def _parse_header(data: bytes) -> tuple[_Format, int]:
    if data[:4] == b"II*\0":
        return _CLASSIC, _unpack("<I", data, 4)
    if data[:8] == b"II+\0\x08\0\0\0":
        return _BIG, _unpack("<Q", data, 8)
    raise BadTiff("not a little-endian TIFF")


def _parse_directory(data: bytes, position: int, fmt: _Format) -> tuple[dict[int, Tag], int]:
    count = _unpack(f"<{fmt.count}", data, position)
    if count > _MAX_TAGS:
        raise BadTiff(f"a TIFF directory with {count} tags")
    first = position + fmt.count_bytes
    directory = dict(
        _parse_entry(data, first + index * fmt.entry_bytes, fmt) for index in range(count)
    )
    return directory, _unpack(f"<{fmt.offset}", data, first + count * fmt.entry_bytes)


def _parse_entry(data: bytes, position: int, fmt: _Format) -> tuple[int, Tag]:
    code, type_ = _unpack("<H", data, position), _unpack("<H", data, position + 2)
    count = _unpack(f"<{fmt.offset}", data, position + 4)
    value_at = position + fmt.entry_bytes - fmt.inline_bytes
    if type_ not in TYPE_BYTES:
        raise BadTiff(f"TIFF tag {code} has the unknown type {type_}")
    size = TYPE_BYTES[type_] * count
    if size > fmt.inline_bytes:
        value_at = _unpack(f"<{fmt.offset}", data, value_at)
    value = data[value_at : value_at + size]
    if len(value) != size:
        raise BadTiff(f"the value of TIFF tag {code} lies outside the bytes at hand")
    return code, Tag(type_, count, value)


def _unpack(form: str, data: bytes, position: int) -> int:
    if position + struct.calcsize(form) > len(data):
        raise BadTiff("the TIFF ends within a directory")
    value: int = struct.unpack_from(form, data, position)[0]
    return value


def directory_bytes(directory: Directory, *, big: bool) -> int:
    """The size of a directory with its out-of-line values, as :func:`write` makes it."""
    fmt = _BIG if big else _CLASSIC
    return _fixed_bytes(directory, fmt) + _outline_bytes(directory, fmt)


def _outline_bytes(directory: Directory, fmt: _Format) -> int:
    sizes = (len(tag.data) for tag in directory.values())
    return sum(_aligned(size) for size in sizes if size > fmt.inline_bytes)


def _fixed_bytes(directory: Directory, fmt: _Format) -> int:
    fixed = fmt.count_bytes + len(directory) * fmt.entry_bytes + struct.calcsize(fmt.offset)
    return _aligned(fixed)


def _aligned(size: int) -> int:
    return -(-size // 8) * 8


def write(directories: Sequence[Directory], position: int, *, big: bool) -> bytes:
    """A chain of directories to stand at byte ``position``, each with its values right behind it.

    Only the block arrays come behind the last one: they may be long, and whoever reads the
    front of a large file finds every directory in it.
    """
    fmt = _BIG if big else _CLASSIC
    arrays_at = position + sum(_near_bytes(directory, fmt) for directory in directories)
    near, arrays = bytearray(), _Values(arrays_at)
    for number, directory in enumerate(directories, 1):
        start = position + len(near)
        following = 0 if number == len(directories) else start + _near_bytes(directory, fmt)
        near += _directory(directory, start, following, arrays, fmt)
    return bytes(near + arrays.data)


@dataclass(slots=True)
class _Values:
    """Values that lie outside their entries, from byte ``position`` on."""

    position: int
    data: bytearray = field(default_factory=bytearray)

    def add(self, value: bytes) -> int:
        """Where the value lies."""
        at = self.position + len(self.data)
        self.data += value.ljust(_aligned(len(value)), b"\0")
        return at


def _near_bytes(directory: Directory, fmt: _Format) -> int:
    near = {code: tag for code, tag in directory.items() if code not in _ARRAYS}
    return _fixed_bytes(directory, fmt) + _outline_bytes(near, fmt)


def _directory(
    directory: Directory, position: int, following: int, arrays: _Values, fmt: _Format
) -> bytes:
    values = _Values(position + _fixed_bytes(directory, fmt))
    entries = [struct.pack(f"<{fmt.count}", len(directory))]
    for code, tag in sorted(directory.items()):
        value = tag.data
        if len(value) > fmt.inline_bytes:
            place = arrays if code in _ARRAYS else values
            value = struct.pack(f"<{fmt.offset}", place.add(value))
        head = struct.pack(f"<HH{fmt.offset}", code, tag.type, tag.count)
        entries.append(head + value.ljust(fmt.inline_bytes, b"\0"))
    entries.append(struct.pack(f"<{fmt.offset}", following))
    return b"".join(entries).ljust(values.position - position, b"\0") + bytes(values.data)


# Every claim here is true of each file in which it stands: GDAL's validator makes a false one
# an error.
_ROWS = b"BLOCK_ORDER=ROW_MAJOR\n"
_FRAMES = b"BLOCK_LEADER=SIZE_AS_UINT4\nBLOCK_TRAILER=LAST_4_BYTES_REPEATED\n"


def file_header(*, big: bool, framed: bool, in_rows: bool = False) -> bytes:
    """Magic, pointer to the first directory, and GDAL's ghost area; ends where it points to.

    ``framed``: every block of the file has its leader and trailer. ``in_rows``: the blocks
    of every image and mask are row-major.
    """
    claims = b"LAYOUT=IFDS_BEFORE_DATA\n" + (_ROWS if in_rows else b"")
    claims += _FRAMES if framed else b""
    claims += b"KNOWN_INCOMPATIBLE_EDITION=NO\n "
    ghost = b"GDAL_STRUCTURAL_METADATA_SIZE=%06d bytes\n" % len(claims) + claims
    ghost += b" " * (len(ghost) % 2)
    fixed = 16 if big else 8
    first = fixed + len(ghost)
    if big:
        return struct.pack("<2sHHHQ", b"II", 43, 8, 0, first) + ghost
    return struct.pack("<2sHI", b"II", 42, first) + ghost

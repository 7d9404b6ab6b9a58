"""Whether a JPEG 2000 file is whole: its boxes against the file's size."""

from typing import Final

from scenemosaic.sources.tiff_structure import ReadAt, Truncated

_SIGNATURE: Final = b"\0\0\0\x0cjP  \r\n\x87\n"
_CODESTREAM: Final = b"jp2c"
_END: Final = b"\xff\xd9"
_MAX_BOXES: Final = 10_000


def check_jp2(magic: bytes, read_at: ReadAt, size_bytes: int) -> None:
    """Raise Truncated where a box, or the codestream in it, ends beyond the file.

    ``magic`` is the file's first 12 bytes; other formats are let pass.
    """
    if magic != _SIGNATURE:
        return
    position = 0
    for _ in range(_MAX_BOXES):
        if position >= size_bytes:
            return
        kind, end = _box(read_at, position, size_bytes)
        if end > size_bytes:
            raise Truncated(
                f"its box {kind.decode('latin-1')!r} ends at byte {end} of {size_bytes}"
            )
        if kind == _CODESTREAM and read_at(end - 2, 2) != _END:
            raise Truncated("its codestream has no end")
        position = end


def _box(read_at: ReadAt, position: int, size_bytes: int) -> tuple[bytes, int]:
    head = read_at(position, 16).ljust(16, b"\0")
    length, kind, minimum = int.from_bytes(head[:4]), head[4:8], 8
    if length == 0:
        return kind, size_bytes
    if length == 1:
        length, minimum = int.from_bytes(head[8:16]), 16
    if length < minimum:
        raise Truncated(f"its box at byte {position} is damaged")
    return kind, position + length

"""Whether an answer to a request for a range holds the bytes that were asked for.

A body that a broken connection cut short looks like any other: it is only shorter than said.
"""

import re
from typing import Final

from scenemosaic.errors import InputError
from scenemosaic.sources.locations import public_uri

_RANGE: Final = re.compile(r"bytes (\d+)-(\d+)/(\d+|\*)", re.ASCII | re.IGNORECASE)


class OtherBytes(OSError):
    """An answer holds other bytes than were asked for, or fewer than it says."""


def ends_with(said: str | None, data: bytes, offset: int, size: int) -> bool | None:
    """Whether the object ends with ``data``, the answer to ``size`` bytes from ``offset`` on.

    ``said`` is its ``Content-Range``. None where it names no total and fewer bytes came than
    were asked for, so that the end shows only where the next ones are asked for. Raises
    OtherBytes.
    """
    found = _RANGE.fullmatch((said or "").strip())
    if found is None:
        raise OtherBytes("the answer does not say which bytes it holds (Content-Range)")
    first, last = int(found[1]), int(found[2])
    if first != offset or not first <= last < offset + size:
        raise OtherBytes(f"bytes {offset} to {offset + size - 1} were asked for, and not {said}")
    if len(data) != last - first + 1:
        raise OtherBytes(f"{len(data)} bytes came of {last - first + 1}: the connection broke off")
    is_short = len(data) < size
    if found[3] == "*":
        return None if is_short else False
    is_end = last + 1 >= int(found[3])
    if is_short and not is_end:
        raise OtherBytes(f"{size} bytes were asked for, and {said} came, which is not the end")
    return is_end


def no_ranges(location: str) -> InputError:
    """The error to raise where a server answers with the whole object."""
    return InputError(
        f"{public_uri(location)}: its server serves no ranges of bytes, and each "
        "window would fetch the whole of it: copy it first"
    )

"""Checked copies: one thread reads a range and computes its CRC, another writes it."""

import os
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager

from isal import isal_zlib

from scenemosaic.stores import local_files as files

_BUFFERS = 4


class Pipe:
    """Writes into one open file, a few buffers behind its reader.

    What goes to neighbouring places is written together, from wherever it was read.
    The kernel lets one thread write to a file at a time: two that copy side by side take
    as long, and the one that waits spins.
    """

    def __init__(self, target: int, executor: Executor) -> None:
        self._target, self._executor = target, executor
        # Each buffer with the write that has to end before it is filled again.
        self._ring: deque[tuple[memoryview | None, Future[None] | None]] = deque(
            [(None, None)] * _BUFFERS
        )
        # What is read and not handed to a write yet, and where it belongs.
        self._buffer, self._filled, self._start = memoryview(b""), 0, 0

    def copy(self, source: int, offset: int, size_bytes: int, position: int) -> tuple[int, int]:
        """Copy a range of ``source`` to ``position``: bytes read, and their CRC-32.

        Fewer bytes where the source ends. What is read need not be written yet.
        """
        copied = crc = 0
        while copied < size_bytes:
            room = self._room(position + copied)
            piece = room[: files.piece_bytes(size_bytes - copied, position + copied)]
            done = os.preadv(source, [piece], offset + copied)
            if done == 0:
                break
            crc = isal_zlib.crc32(piece[:done], crc)
            copied += done
            self._filled += done
        return copied, crc

    def drain(self) -> None:
        """Wait until all is written. Raises what a write raised."""
        self._flush()
        for _, pending in self._ring:
            if pending is not None:
                pending.result()

    def _room(self, position: int) -> memoryview:
        """What is free of the buffer that takes what belongs at ``position``."""
        end = self._start + self._filled
        if not self._filled or position != end or end % files.BUFFER_BYTES == 0:
            self._flush()
            self._buffer, self._start = self._buffer or self._free(), position
        return self._buffer[self._filled :]

    def _flush(self) -> None:
        if self._filled:
            self._write(self._buffer, self._filled, self._start)
            self._buffer, self._filled = memoryview(b""), 0

    def _free(self) -> memoryview:
        buffer, pending = self._ring.popleft()
        if pending is not None:
            pending.result()
        return memoryview(bytearray(files.BUFFER_BYTES)) if buffer is None else buffer

    def _write(self, buffer: memoryview, size_bytes: int, position: int) -> None:
        write = self._executor.submit(files.write_at, self._target, buffer[:size_bytes], position)
        self._ring.append((buffer, write))


@contextmanager
def pipe_into(target: int) -> Iterator[Pipe]:
    """A pipe into the open file ``target``; all is written once the context ends well."""
    with ThreadPoolExecutor(1) as executor:
        pipe = Pipe(target, executor)
        yield pipe
        pipe.drain()

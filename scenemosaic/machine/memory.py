"""Memory of a worker process: what is freed is used again instead of being mapped anew.

A window needs a few buffers of tens of megabytes. By default the C library maps
and unmaps each, GDAL's block cache grows to a twentieth of the machine, and the
kernel clears every page: a tenth of the CPU of a window. Kept in one heap, and
with a small cache, they serve the next window. The process then stays at its
peak of memory, which a worker soon reaches anyway.
"""

import ctypes
import functools
import os
import platform

# Names and numbers of mallopt(3).
_M_TRIM_THRESHOLD, _M_TOP_PAD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -2, -3, -8
_BLOCK_CACHE_MB = "128"
_SETTINGS = (
    (_M_ARENA_MAX, 1),  # the arenas of threads are too small for such buffers
    (_M_MMAP_THRESHOLD, 1 << 30),
    (_M_TRIM_THRESHOLD, 2**31 - 1),
    (_M_TOP_PAD, 64 << 20),
)


@functools.cache
def reuse_large_buffers() -> bool:
    """Set the process up once, before GDAL reads a pixel; False where there is no glibc.

    A GDAL_CACHEMAX of the user's own is kept.
    """
    os.environ.setdefault("GDAL_CACHEMAX", _BLOCK_CACHE_MB)
    if platform.libc_ver()[0] != "glibc":
        return False
    mallopt = ctypes.CDLL(None).mallopt
    return all(mallopt(option, value) == 1 for option, value in _SETTINGS)


def give_back() -> None:
    """Return what is free to the system: the buffers of windows, before many rows are held."""
    if platform.libc_ver()[0] == "glibc":
        ctypes.CDLL(None).malloc_trim(0)

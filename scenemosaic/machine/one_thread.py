"""Each worker encodes on one core: libraries that start threads of their own only disturb."""

import os
from typing import Final

ONE_THREAD: Final = (
    "GDAL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
)


def one_thread_each() -> None:
    """Set GDAL's and the BLAS libraries' own threads to one, unless the user has set them."""
    for name in ONE_THREAD:
        os.environ.setdefault(name, "1")

"""Every image comes back from its PNG, whoever reads it."""

from typing import Any

import imagecodecs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from rasterio.io import MemoryFile

from scenemosaic.publishing.png import png

IMAGES = hnp.arrays(np.uint8, st.tuples(st.integers(1, 40), st.integers(1, 40), st.just(4)))


@given(IMAGES)
def test_pixels_come_back(rgba: Any) -> None:
    assert (imagecodecs.png_decode(png(rgba)) == rgba).all()


@pytest.mark.filterwarnings("ignore::rasterio.errors.NotGeoreferencedWarning")
def test_gdal_reads_the_same() -> None:
    rgba = np.random.default_rng(0).integers(0, 256, (70, 90, 4)).astype(np.uint8)
    with MemoryFile(png(rgba)) as file, file.open(driver="PNG") as dataset:
        assert (dataset.read() == rgba.transpose(2, 0, 1)).all()

"""Every image comes back from its PNG, whoever reads it."""

from typing import Any

import imagecodecs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from rasterio.io import MemoryFile

from scenemosaic.mosaic.png import png

SIDES = st.integers(1, 40)
IMAGES = hnp.arrays(np.uint8, st.tuples(SIDES, SIDES, st.sampled_from([3, 4])))


@given(IMAGES)
def test_pixels_come_back(image: Any) -> None:
    assert (imagecodecs.png_decode(png(image)) == image).all()


@pytest.mark.parametrize("channels", [3, 4])
@pytest.mark.filterwarnings("ignore::rasterio.errors.NotGeoreferencedWarning")
def test_gdal_reads_the_same(channels: int) -> None:
    image = np.random.default_rng(0).integers(0, 256, (70, 90, channels)).astype(np.uint8)
    with MemoryFile(png(image)) as file, file.open(driver="PNG") as dataset:
        assert (dataset.read() == image.transpose(2, 0, 1)).all()

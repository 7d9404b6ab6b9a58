"""The preview's thumbnail: small, whole, and of the right colours."""

import imagecodecs
import numpy as np
import pytest

from flows.shown.preview_artifact import SIDE_PX, thumbnail
from scenemosaic.mosaic.png import png


@pytest.mark.parametrize(
    ("height", "width"), [(1, 1), (256, 256), (257, 3), (1024, 1024), (600, 1000), (1, 1024)]
)
def test_at_most_so_many_pixels_a_side(height: int, width: int) -> None:
    pixels = np.full((height, width, 4), 200, np.uint8)
    small = imagecodecs.png_decode(thumbnail(png(pixels)))
    assert max(small.shape[:2]) <= SIDE_PX
    assert min(small.shape[:2]) >= 1
    assert (small == 200).all()


def test_pixels_are_means() -> None:
    pixels = np.zeros((512, 512, 4), np.uint8)
    pixels[::2] = 100
    small = imagecodecs.png_decode(thumbnail(png(pixels)))
    assert small.shape == (256, 256, 4)
    assert (small == 50).all()

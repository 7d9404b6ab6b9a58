"""Invariant 7 for narrow images, with the blocks that planning chooses."""

from pathlib import Path

import pytest
from rio_cogeo.cogeo import cog_validate

from scenemosaic.recipes.window_choice import choose_block
from tests.mosaic.memory import recipe_for, write_mosaic
from tests.mosaic.pictures import noise
from tests.validators import assert_valid_cog


def mosaic(folder: Path, width: int, height: int) -> Path:
    pixels = noise("uint8", (1, height, width))
    block = choose_block(width, height, None)
    return write_mosaic(folder / "m.tif", pixels, recipe_for(pixels, 4 * block, block_size=block))


@pytest.mark.parametrize(
    ("width", "height"),
    [
        (2, 1025),
        (16, 2000),
        (100, 600),
        (256, 3000),
        (300, 5000),
        (511, 2000),
        (512, 2000),
        (1, 512),
        (2000, 1),
    ],
)
def test_a_narrow_image_is_a_valid_cog(tmp_path: Path, width: int, height: int) -> None:
    assert_valid_cog(mosaic(tmp_path, width, height))


def test_one_pixel_wide_and_high_it_cannot_be(tmp_path: Path) -> None:
    """With overviews this error; without them a warning, which counts when strict."""
    valid, errors, _ = cog_validate(mosaic(tmp_path, 1, 600), strict=True)
    assert (valid, errors) == (False, ["Invalid Decimation 1 for overview level 0"])

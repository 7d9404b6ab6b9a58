"""Invariant 2 of lossy codecs: where a block cannot be halved, tiles would carry no seed."""

from pathlib import Path

import numpy as np
import pytest

from scenemosaic.errors import InputError
from scenemosaic.planning import PlanOptions
from scenemosaic.planning.asked import check_options
from tests.mosaic.memory import recipe_for, write_mosaic
from tests.mosaic.pictures import levels_of, same


@pytest.mark.parametrize("compress", ["jpeg", "webp"])
@pytest.mark.parametrize("block_size", [16, 48, 528])
def test_a_block_that_cannot_be_halved_is_refused(compress: str, block_size: int) -> None:
    options = PlanOptions(compress=compress, block_size=block_size)
    with pytest.raises(InputError, match=f"multiple of 32 for {compress}, not {block_size}"):
        check_options(options)
    check_options(PlanOptions(block_size=block_size))


@pytest.mark.parametrize("compress", ["jpeg", "webp"])
@pytest.mark.parametrize("masked", [False, True])
def test_no_level_depends_on_the_window(tmp_path: Path, compress: str, masked: bool) -> None:
    check_options(PlanOptions(compress=compress, block_size=32))
    y, x = np.mgrid[0:150, 0:201]
    pixels = np.stack([(x * y // 7 + band * 40) % 256 for band in range(3)]).astype(np.uint8)
    shown = np.random.default_rng(1).random((150, 201)) < 0.6
    mask = np.where(shown, 255, 0).astype(np.uint8) if masked else None
    made = []
    for window in (32, 96, 256):
        recipe = recipe_for(pixels, window, block_size=32, compress=compress, has_mask=masked)
        made.append(levels_of(write_mosaic(tmp_path / f"{window}.tif", pixels, recipe, mask)))
    for levels in made[1:]:
        for (one, shows), (other, shows_too) in zip(made[0], levels, strict=True):
            assert same(one, other)
            assert same(shows, shows_too)

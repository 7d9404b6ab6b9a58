"""Nothing is wrong with a sound job, whatever its codec, bands and masks; a bad block is found."""

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rasterio

from scenemosaic.keys import mosaic_key, tile_key
from scenemosaic.tiff.block_check import Decoder, Undecodable
from scenemosaic.tiff.structure import block_arrays, read_directories
from scenemosaic.tiff.template import template_from_directories
from scenemosaic.tile import window_shapes
from scenemosaic.verification.verify import verify
from tests.jobs.places import MakePlace
from tests.verification.conftest import Finish
from tests.verification.damage import NAME, NUMBER, Damage

CODECS = ("deflate", "zstd", "lzw", "lerc", "jpeg", "webp", "none")

DTYPES = ("float32", "int16")
COMPLEX = (("deflate", "complex64"), ("none", "complex64"))


def _write(path: Path, dtype: str, bands: int, *, mask: bool = False, **options: Any) -> Path:
    y, x = np.mgrid[0:150, 0:180]
    noise = np.random.default_rng(3).normal(0, 4, (bands, 150, 180))
    pixels = (120 + 60 * np.sin(x / 30) * np.cos(y / 20) + noise).astype(dtype)
    with (
        rasterio.Env(GDAL_TIFF_INTERNAL_MASK=True),
        rasterio.open(
            path, "w", driver="GTiff", height=150, width=180, count=bands, dtype=dtype,
            crs="EPSG:32631", transform=rasterio.Affine(10, 0, 5e5, 0, -10, 5e6), **options,
        ) as dataset,
    ):  # fmt: skip
        dataset.write(pixels)
        if mask:
            dataset.write_mask((x + y) % 97 > 20)
    return path


@pytest.mark.parametrize("mask", [False, True], ids=["plain", "mask"])
@pytest.mark.parametrize("compress", CODECS)
def test_a_sound_job(
    finish: Finish, local_place: MakePlace, tmp_path: Path, compress: str, mask: bool
) -> None:
    source = _write(tmp_path / "scene.tif", "uint8", 3, mask=mask, photometric="rgb")
    damage = finish(local_place, source, compress=compress)
    assert damage.spec.plan.recipe.has_mask is mask
    assert damage.found() == set()
    assert damage.found(deep=True) == set()


@pytest.mark.parametrize(("compress", "dtype"), [*product(CODECS[:4], DTYPES), *COMPLEX])
@pytest.mark.parametrize("interleave", ["pixel", "band"])
def test_other_pixels(
    finish: Finish,
    local_place: MakePlace,
    tmp_path: Path,
    compress: str,
    dtype: str,
    interleave: str,
) -> None:
    source = _write(tmp_path / "scene.tif", dtype, 2, mask=True)
    damage = finish(local_place, source, compress=compress, interleave=interleave)
    assert damage.found(deep=True) == set()


@pytest.mark.parametrize("compress", ["deflate", "zstd", "lzw", "none"])
@pytest.mark.parametrize(("dtype", "bits"), [("uint8", 1), ("uint16", 15)])
def test_odd_bits(
    finish: Finish, local_place: MakePlace, tmp_path: Path, compress: str, dtype: str, bits: int
) -> None:
    source = _write(tmp_path / "scene.tif", dtype, 1, nbits=bits)
    damage = finish(local_place, source, compress=compress)
    assert damage.found(deep=True) == set()
    decoder, block = _a_block(damage)
    decoder.image(block)
    with pytest.raises(Undecodable):
        decoder.image(block[: len(block) // 2])


def _a_block(damage: Damage) -> tuple[Decoder, bytes]:
    """A decoder of a tile's blocks, and the first of its blocks."""
    recipe = damage.spec.plan.recipe
    shapes = window_shapes(recipe.tiling().window(NUMBER), recipe)
    data = damage.read(tile_key(damage.job_id, NAME))
    directories = read_directories(lambda at, n: data[at : at + n], len(data), shapes)
    level = block_arrays(directories, shapes)[0]
    at, size = int(level.offsets[0]), int(level.sizes[0])
    return Decoder(recipe, template_from_directories(directories)), data[at : at + size]


@pytest.mark.parametrize("compress", CODECS)
def test_blocks_that_do_not_decode(
    finish: Finish, local_place: MakePlace, tmp_path: Path, compress: str
) -> None:
    source = _write(tmp_path / "scene.tif", "uint8", 3, photometric="rgb")
    decoder, block = _a_block(finish(local_place, source, compress=compress))
    decoder.image(block)
    # libjpeg makes up what is cut off, and GDAL only logs that it did.
    for bad in (block[: len(block) // 2], b"\0" * len(block) if compress != "none" else b"", b"x"):
        with pytest.raises(Undecodable):
            decoder.image(bad)


def test_deflate_with_bytes_behind_it_or_a_bad_checksum(local_damage: Damage) -> None:
    decoder, block = _a_block(local_damage)
    decoder.image(block)
    for bad in (block + b"more", block[:-1] + bytes([block[-1] ^ 1]), block[:-4]):
        with pytest.raises(Undecodable):
            decoder.image(bad)


def test_a_spoiled_jpeg_block_names_its_place(
    finish: Finish, local_place: MakePlace, tmp_path: Path
) -> None:
    source = _write(tmp_path / "scene.tif", "uint8", 3, photometric="rgb")
    damage = finish(local_place, source, compress="jpeg")
    _, block = _a_block(damage)

    def spoil(data: bytes) -> bytes:
        at = data.index(block) + len(block) // 2
        return data[:at] + b"\xff\xd9" + data[at + 2 :]  # the image ends here

    for key in (tile_key(damage.job_id, NAME), mosaic_key(damage.job_id)):
        damage.change(key, spoil)
    findings = verify(damage.spec, deep=True).findings
    found = {f.subject: f.detail for f in findings if f.kind.value == "undecodable"}
    assert "level 0, block 0_0: " in found[NAME]
    assert "level 0, block 2_2: " in found["mosaic"]

"""A tile of the same pixels and other bytes, as another processor or library makes it."""

from typing import Any
from unittest import mock

from scenemosaic.tiff import deflate
from scenemosaic.tile import EncodedTile, encode_tile


class _Stored(deflate.FirstChoice):
    def __call__(
        self, sample: deflate.Sample, level: int | None, effort: str
    ) -> deflate.Compressor:
        return deflate.libdeflate(0)


def encode_otherwise(
    pixels: Any, mask: Any, window: Any, recipe: Any, template: Any, *box: Any
) -> EncodedTile:
    """As :func:`encode_tile`, of a recipe in deflate; its blocks are not compressed."""
    with mock.patch.object(deflate, "FirstChoice", _Stored):
        return encode_tile(pixels, mask, window, recipe, template, *box)

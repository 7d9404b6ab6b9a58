"""One read of one COG in a fresh process, nothing cached: ``python -m bench.reading READ URL``."""

import argparse
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import rasterio
from rasterio.windows import Window

Dataset: TypeAlias = rasterio.DatasetReader


def opening(dataset: Dataset, **how: Any) -> None:
    """Nothing but what opening takes."""


def whole(dataset: Dataset, **how: Any) -> None:
    """Every pixel of level 0."""
    dataset.read(**how)


def by_windows(dataset: Dataset, **how: Any) -> None:
    """The same, 2048 x 2048 pixels at a time: a mosaic's own windows."""
    step = 2048
    for y in range(0, dataset.height, step):
        for x in range(0, dataset.width, step):
            size = min(step, dataset.width - x), min(step, dataset.height - y)
            dataset.read(window=Window(x, y, *size), **how)


def overview(dataset: Dataset, **how: Any) -> None:
    """The whole at an eighth of its size, which is level 3."""
    shape = dataset.count, dataset.height // 8, dataset.width // 8
    dataset.read(out_shape=shape, **how)


def window(dataset: Dataset, **how: Any) -> None:
    """512 x 512 pixels that four blocks of 512 share."""
    _middle(dataset, 512, 700, how)


def crossing(dataset: Dataset, **how: Any) -> None:
    """1500 x 1500 pixels about the centre, where four tiles of an even number meet."""
    _middle(dataset, 1500, -750, how)


def _middle(dataset: Dataset, size: int, shift: int, how: Mapping[str, Any]) -> None:
    y, x = dataset.height // 2 + shift, dataset.width // 2 + shift
    dataset.read(window=Window(x, y, size, size), **how)


READS: Mapping[str, Callable[..., None]] = {
    "opening": opening,
    "full read": whole,
    "full read by windows of 2048": by_windows,
    "overview of 1/8": overview,
    "window of 512": window,
    "window of 1500 across tiles": crossing,
}


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("read", choices=READS)
    parser.add_argument("url")
    parser.add_argument("--mask", action="store_true", help="read pixels with their masks")
    options = parser.parse_args(arguments)
    with rasterio.open(options.url) as dataset:
        READS[options.read](dataset, masked=options.mask)


if __name__ == "__main__":
    main()

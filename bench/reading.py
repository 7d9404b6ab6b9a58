"""One read of one COG in a fresh process, nothing cached: ``python -m bench.reading READ URL``."""

import argparse
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import rasterio
from rasterio.windows import Window

Dataset: TypeAlias = rasterio.DatasetReader


def opening(dataset: Dataset) -> None:
    """Nothing but what opening takes."""


def whole(dataset: Dataset) -> None:
    """Every pixel of level 0."""
    dataset.read()


def by_windows(dataset: Dataset) -> None:
    """The same, 2048 x 2048 pixels at a time: a mosaic's own windows."""
    step = 2048
    for y in range(0, dataset.height, step):
        for x in range(0, dataset.width, step):
            size = min(step, dataset.width - x), min(step, dataset.height - y)
            dataset.read(window=Window(x, y, *size))


def overview(dataset: Dataset) -> None:
    """The whole at an eighth of its size, which is level 3."""
    dataset.read(out_shape=(dataset.count, dataset.height // 8, dataset.width // 8))


def window(dataset: Dataset) -> None:
    """512 x 512 pixels that four blocks of 512 share."""
    _middle(dataset, 512, 700)


def crossing(dataset: Dataset) -> None:
    """1500 x 1500 pixels about the centre, where four tiles of an even number meet."""
    _middle(dataset, 1500, -750)


def _middle(dataset: Dataset, size: int, shift: int) -> None:
    y, x = dataset.height // 2 + shift, dataset.width // 2 + shift
    dataset.read(window=Window(x, y, size, size))


READS: Mapping[str, Callable[[Dataset], None]] = {
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
    options = parser.parse_args(arguments)
    with rasterio.open(options.url) as dataset:
        READS[options.read](dataset)


if __name__ == "__main__":
    main()

"""A VRT over a job's tiles: ``python -m bench.vrt TILES OUT --window N``."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from xml.sax.saxutils import escape

import rasterio

GDAL_TYPES = {"uint8": "Byte", "uint16": "UInt16", "int16": "Int16", "float32": "Float32"}


def vrt(tiles: Sequence[Path], window: int, prefix: str | None = None) -> str:
    """The VRT's XML; a tile's place is told by its name (``0007_0012.tif``).

    With a ``prefix`` (``/vsis3/…/``) it names the same tiles there.
    """
    placed = [(tile, *_corner(tile, window)) for tile in tiles]
    sizes = {}
    for tile, y, x in placed:
        with rasterio.open(tile) as dataset:
            sizes[tile] = (dataset.width, dataset.height)
            if (y, x) == (0, 0):
                crs, transform = dataset.crs.to_wkt(), dataset.transform.to_gdal()
                types = [GDAL_TYPES[dtype] for dtype in dataset.dtypes]
    width = max(x + sizes[tile][0] for tile, _, x in placed)
    height = max(y + sizes[tile][1] for tile, y, _ in placed)
    bands = "".join(
        f'<VRTRasterBand dataType="{name}" band="{band}">'
        + "".join(
            _source(f"{prefix}{tile.name}" if prefix else str(tile), band, y, x, sizes[tile])
            for tile, y, x in placed
        )
        + "</VRTRasterBand>\n"
        for band, name in enumerate(types, 1)
    )
    return (
        f'<VRTDataset rasterXSize="{width}" rasterYSize="{height}">'
        f"<SRS>{escape(crs)}</SRS>"
        f"<GeoTransform>{', '.join(map(repr, transform))}</GeoTransform>\n{bands}</VRTDataset>"
    )


def _corner(tile: Path, window: int) -> tuple[int, int]:
    row, _, col = tile.stem.partition("_")
    return int(row) * window, int(col) * window


def _source(tile: str, band: int, y: int, x: int, size: tuple[int, int]) -> str:
    width, height = size
    box = f'xSize="{width}" ySize="{height}"'
    return (
        f'<SimpleSource><SourceFilename relativeToVRT="0">{escape(tile)}</SourceFilename>'
        f'<SourceBand>{band}</SourceBand><SrcRect xOff="0" yOff="0" {box}/>'
        f'<DstRect xOff="{x}" yOff="{y}" {box}/></SimpleSource>'
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tiles", type=Path)
    parser.add_argument("target", type=Path)
    parser.add_argument("--window", type=int, required=True)
    parser.add_argument("--prefix", help="where the same tiles are to be read from")
    options = parser.parse_args(arguments)
    tiles = sorted(options.tiles.glob("*.tif"))
    options.target.write_text(vrt(tiles, options.window, options.prefix), "utf-8")


if __name__ == "__main__":
    main()

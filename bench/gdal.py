"""GDAL's COG driver as a child process: ``python -m bench.gdal SOURCE OUT``."""

import argparse
import json
import time
from collections.abc import Sequence

import rasterio
from rasterio.shutil import copy


def main(arguments: Sequence[str] | None = None) -> None:
    """Copy SOURCE to a COG with the options that scenemosaic's defaults stand for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source")
    parser.add_argument("target")
    parser.add_argument("--threads", default="1")
    options = parser.parse_args(arguments)
    imports_s = time.process_time()
    with rasterio.Env(GDAL_NUM_THREADS=options.threads):
        copy(
            options.source,
            options.target,
            driver="COG",
            compress="DEFLATE",
            level=6,
            predictor="YES",  # 2 for integers, 3 for floats
            blocksize=512,
            overview_resampling="AVERAGE",
            num_threads=options.threads,
        )
    print(json.dumps({"imports_s": imports_s}))


if __name__ == "__main__":
    main()

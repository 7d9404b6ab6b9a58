"""A mosaic's preview, kept small as an artifact of the flow run."""

import base64
from typing import Any, Final

import imagecodecs
import numpy as np
import numpy.typing as npt
from prefect.artifacts import create_image_artifact

from scenemosaic import keys
from scenemosaic.committing.commit import retrying
from scenemosaic.grids.grid import ceil_div
from scenemosaic.job import JobSpec
from scenemosaic.mosaic.png import png
from scenemosaic.session import open_session

SIDE_PX: Final = 256


def show_preview(spec: JobSpec, revision: int) -> None:
    """Show a published mosaic's ``preview.png``. Raises StoreError where it cannot be read."""
    job_id = spec.plan.job_id
    session = open_session(spec)
    key = keys.preview_key(job_id, revision)
    data = retrying(lambda: session.store.get(key), session.policy, session.effects)
    small = base64.b64encode(thumbnail(data)).decode()
    create_image_artifact(
        f"data:image/png;base64,{small}", key=f"preview-{job_id}", description=f"Job {job_id}"
    )


def thumbnail(data: bytes) -> bytes:
    """The PNG of a colour PNG with at most 256 pixels a side: means of whole blocks of pixels."""
    pixels: npt.NDArray[Any] = imagecodecs.png_decode(data)
    step = ceil_div(max(pixels.shape[:2]), SIDE_PX)
    if step == 1:
        return data
    # A side shorter than a block is repeated up to one; what is over is cut off.
    high, wide = (max(side // step, 1) * step for side in pixels.shape[:2])
    more = ((0, max(high - pixels.shape[0], 0)), (0, max(wide - pixels.shape[1], 0)), (0, 0))
    whole = np.pad(pixels, more, mode="edge")[:high, :wide]
    blocks = whole.reshape(high // step, step, wide // step, step, -1)
    return png(np.rint(blocks.mean(axis=(1, 3))).astype(np.uint8))

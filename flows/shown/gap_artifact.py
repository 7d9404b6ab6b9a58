"""A job's gap map, kept as an artifact of the flow run."""

import base64
from collections.abc import Mapping

from prefect.artifacts import create_image_artifact, create_markdown_artifact

from flows.shown import gap_map


def show_gap_map(job_id: str, states: Mapping[str, str]) -> None:
    """``states`` maps the windows' names to their states; a small map is a grid, else an image."""
    key = f"gap-map-{job_id}"
    if gap_map.is_small(states):
        create_markdown_artifact(gap_map.grid(states), key=key, description=f"Job {job_id}")
        return
    data = base64.b64encode(gap_map.picture(states)).decode()
    create_image_artifact(
        f"data:image/png;base64,{data}", key=key, description=gap_map.legend(states)
    )

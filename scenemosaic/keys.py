"""Object keys under a root and manifest partitions: spelled here and nowhere else."""

import hashlib
import re

from scenemosaic.errors import InputError

TIFF_CONTENT_TYPE = "image/tiff; application=geotiff; profile=cloud-optimized"
WINDOWS_PER_SHARD = 8192
MOSAIC_ROW = "mosaic"

_JOB_ID = re.compile(r"[0-9a-f]{32}")


def check_job_id(job_id: str) -> str:
    """The job ID itself, or InputError where it is not 32 hex digits."""
    if not _JOB_ID.fullmatch(job_id):
        raise InputError(f"a job ID is 32 hex digits, not {job_id!r}")
    return job_id


def plan_key(job_id: str) -> str:
    return f"jobs/{job_id}/plan.json"


def tile_key(job_id: str, window_name: str) -> str:
    return f"tiles/{job_id}/{window_name}.tif"


def mosaic_key(job_id: str) -> str:
    return f"mosaics/{job_id}/mosaic.tif"


def preview_key(job_id: str) -> str:
    return f"mosaics/{job_id}/preview.png"


def item_key(job_id: str) -> str:
    return f"mosaics/{job_id}/item.json"


def partition(job_id: str, root_uri: str, window_number: int = 0) -> str:
    """The manifest partition of a window: ``{job_id}@{root}`` and ``#{shard}`` from shard 1 on.

    ``root_uri`` is the root's canonical URI; one table serves many roots.
    """
    base = f"{job_id}@{hashlib.sha256(root_uri.encode()).hexdigest()[:12]}"
    shard = window_number // WINDOWS_PER_SHARD
    return f"{base}#{shard}" if shard else base


def partitions(job_id: str, root_uri: str, window_count: int) -> list[str]:
    """Every partition that holds rows of a job of ``window_count`` windows."""
    starts = range(0, max(window_count, 1), WINDOWS_PER_SHARD)
    return [partition(job_id, root_uri, start) for start in starts]


def check_key(key: str) -> str:
    """The key itself, or InputError where it could leave the root or confuse a store."""
    parts = key.split("/")
    if (
        not key
        or any(part in ("", ".", "..") for part in parts)
        or not key.isprintable()
        or "\\" in key
    ):
        raise InputError(f"not a usable object key: {key!r}")
    return key

"""Object keys under a root and manifest partitions: spelled here and nowhere else."""

import hashlib
import re
from collections.abc import Iterable
from itertools import islice

from scenemosaic.errors import InputError
from scenemosaic.grids.grid import window_name

TIFF_CONTENT_TYPE = "image/tiff; application=geotiff; profile=cloud-optimized"
WINDOWS_PER_SHARD = 8192
MOSAIC_ROW = "mosaic"
MOSAIC_FILE, PREVIEW_FILE = "mosaic.tif", "preview.png"
ASSEMBLY_CLAIM = "assembly"
HIDDEN = ".scenemosaic"  # a local root's own folder: checksums, locks, what is being written
# What the short form of preflight leaves under each root and in each manifest, once.
PROBE_KEY = "preflight/probe"
PROBE_PARTITION = "preflight"
PROBE_ROW = "probe"

# What is published: which mosaic is meant by "the latest", and all that ever were.
POINTER_KEY = "mosaics/latest.json"
CATALOG_KEY = "mosaics/catalog.json"

LEAST_DIGITS = 6  # so many of a job's ID name it, where no other job has the same

_JOB_ID = re.compile(r"[0-9a-f]{32}")
_PLAN_KEY = re.compile(r"jobs/([0-9a-f]{32})/plan\.json")
LEDGER_RULE = (
    "a ledger's name is 1 to 64 of a-z, 0-9, '.', '_' and '-', and begins with a letter or digit"
)
LEDGER_PATTERN = r"[a-z0-9][a-z0-9._-]{0,63}"
_LEDGER = re.compile(LEDGER_PATTERN)
# What is hidden in a local root is its own, whatever it is to become.
_LARGE_WRITE = re.compile(
    rf"(?:mosaics|stages|tiles|preflight)/[0-9a-f]{{32}}/.+|{re.escape(HIDDEN)}/.+"
)
_PLAIN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_AUDIT_KEY = re.compile(rf"audit/(?:[0-9a-f]{{32}}|ledger-{LEDGER_PATTERN})/([0-9]{{8,18}})\.jsonl")
_OWN_PROBE_KEY = re.compile(r"preflight/[0-9a-f]{32}/[a-z0-9-]+|ledger/preflight-[0-9a-f]{32}")
_OWN_PROBE_PARTITION = re.compile(r"preflight@[0-9a-f]{32}")


def check_job_id(job_id: str) -> str:
    """The job ID itself, or InputError where it is not 32 hex digits."""
    if not _JOB_ID.fullmatch(job_id):
        raise InputError(f"a job ID is 32 hex digits, not {job_id!r}")
    return job_id


def plan_key(job_id: str) -> str:
    return f"{plans_prefix(job_id)}/plan.json"


def plans_prefix(digits: str) -> str:
    """The beginning of the key of every plan whose job's ID begins with ``digits``."""
    return f"jobs/{digits}"


def job_of_plan(key: str) -> str | None:
    """The job whose plan has this key, or None where it is no plan's."""
    found = _PLAN_KEY.fullmatch(key)
    return found[1] if found else None


def tiles_prefix(job_id: str) -> str:
    return f"tiles/{job_id}/"


def tile_key(job_id: str, window_name: str) -> str:
    return f"{tiles_prefix(job_id)}{window_name}.tif"


def revision_path(revision: int, name: str) -> str:
    """A file of a revision, beside ``item.json``: ``mosaic.tif``, ``r1/mosaic.tif``, …"""
    return f"r{revision}/{name}" if revision else name


def revision_key(job_id: str, revision: int, name: str) -> str:
    return f"mosaics/{job_id}/{revision_path(revision, name)}"


def mosaic_key(job_id: str, revision: int = 0) -> str:
    return revision_key(job_id, revision, MOSAIC_FILE)


def preview_key(job_id: str, revision: int = 0) -> str:
    return revision_key(job_id, revision, PREVIEW_FILE)


def stage_key(job_id: str, digest: str) -> str:
    """An object that a large mosaic is put together from; ``digest`` is of what it is made of."""
    return f"stages/{job_id}/{digest}.part"


def top_boxes_prefix(job_id: str) -> str:
    """Where the parts of a very large mosaic's top levels lie: among its stages."""
    return f"stages/{job_id}/top-"


def top_box_prefix(job_id: str, row: int, col: int) -> str:
    """One part of them, by its place, of whatever it was made."""
    return f"{top_boxes_prefix(job_id)}{window_name(row, col)}-"


def top_box_key(job_id: str, row: int, col: int, digest: str) -> str:
    """The same as made of what ``digest`` is of."""
    return f"{top_box_prefix(job_id, row, col)}{digest}.part"


def item_key(job_id: str) -> str:
    return f"mosaics/{job_id}/item.json"


def collection_href(collection: str) -> str:
    """Where a collection's document lies below ``mosaics/``: under its ID, where that is plain."""
    plain = _PLAIN_ID.fullmatch(collection) is not None
    name = collection if plain else hashlib.sha256(collection.encode()).hexdigest()[:32]
    return f"collections/{name}.json"


def collection_key(collection: str) -> str:
    return f"mosaics/{collection_href(collection)}"


def ledger_key(name: str) -> str:
    """The key of a ledger, or InputError where the name is none."""
    if not _LEDGER.fullmatch(name):
        raise InputError(f"{LEDGER_RULE}, not {name!r:.80}")
    return f"ledger/{name}.json"


def ledgers_among(keys: Iterable[str], most: int = 10) -> list[str]:
    """The names of the first ledgers among the keys below ``ledger/``, without cursors."""
    names = (key.removeprefix("ledger/").removesuffix(".json") for key in keys if _is_ledger(key))
    return list(islice(names, most))


def _is_ledger(key: str) -> bool:
    return key.endswith(".json") and not key.startswith("ledger/ingest-")


def ingest_ledger(name: str) -> str:
    """The ledger's name under which a schedule's cursor is kept."""
    return f"ingest-{name}"


def ingest_key(name: str) -> str:
    """The key of a schedule's cursor, beside the ledgers. InputError where the name is none."""
    return ledger_key(ingest_ledger(name))


def ledger_log(name: str) -> str:
    """The name of a ledger's own audit log: no job has it. InputError where the name is none."""
    ledger_key(name)
    return f"ledger-{name}"


def audit_prefix(log: str) -> str:
    return f"audit/{log}/"


def audit_key(log: str, number: int) -> str:
    """A batch of the audit log of a job (its ID) or a ledger: the only keys with a counter."""
    return f"{audit_prefix(log)}{number:08d}.jsonl"


def audit_number(key: str) -> int:
    """The number in such a key; 0 where it is none."""
    found = _AUDIT_KEY.fullmatch(key)
    return int(found[1]) if found else 0


def folder_of(key: str) -> str:
    """The prefix of all keys of the key's kind and job, ``tiles/{job_id}/``; else the key."""
    kind, _, rest = key.partition("/")
    job_id, within_job, _ = rest.partition("/")
    return f"{kind}/{job_id}/" if within_job else key


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


def claim_partition(job_id: str, root_uri: str) -> str:
    """The partition of a job's claims: no row counted for the job ever shares it."""
    return f"claims:{partition(job_id, root_uri)}"


def job_of(key: str) -> str | None:
    """The job whose assembly writes a key below ``mosaics/`` or ``stages/``, or None."""
    first, _, rest = key.partition("/")
    job_id = rest.partition("/")[0]
    return job_id if first in ("mosaics", "stages") and _JOB_ID.fullmatch(job_id) else None


def is_of_a_large_write(key: str) -> bool:
    """Whether what is being written to the key may be a run's of this very root.

    Others write below a root, too: those of a root within it, and other programs.
    """
    return _LARGE_WRITE.fullmatch(key) is not None


def probe_prefix(token: str) -> str:
    """Where one preflight keeps its objects; ``token`` is 32 hex digits that it alone has."""
    return f"preflight/{token}/"


def ledger_probe_key(token: str) -> str:
    """Where ``preflight --policy`` tries a write that a bucket's policy should deny.

    It lies where ledgers do, and no ledger ever has such a name.
    """
    return f"ledger/preflight-{token}"


def probe_partition(token: str) -> str:
    """The manifest partition of one preflight's rows."""
    return f"preflight@{token}"


def check_probe_key(key: str) -> str:
    """The key itself, or InputError where it is not one preflight's own: only these are deleted."""
    if not _OWN_PROBE_KEY.fullmatch(key):
        raise InputError(f"not a preflight's own key, and nothing else is ever deleted: {key!r}")
    return key


def check_probe_partition(partition: str) -> str:
    """The same for a manifest partition."""
    if not _OWN_PROBE_PARTITION.fullmatch(partition):
        raise InputError(
            f"not a preflight's own rows, and no others are ever deleted: {partition!r}"
        )
    return partition


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

"""A mosaic of more pieces than the store puts together at once: made of objects made of them.

These lie below ``stages/``, each under a key that says what it is made of, so that it is
written once, by whichever run comes first, and found again by the next. Nothing reads them
once the mosaic stands: a lifecycle rule of the bucket expires them.
"""

import hashlib
from collections.abc import Callable, Sequence
from typing import Final

from scenemosaic import keys
from scenemosaic.committing.commit import Committed, commit_composed
from scenemosaic.crc32 import crc32_combine
from scenemosaic.errors import ForeignObject
from scenemosaic.session import JobSpec, Run, Session
from scenemosaic.stores.port import CopyRun, IfAbsent, Segment, Stages, Store

_CONTENT_TYPE: Final = "application/octet-stream"
# Told of each one that stands, and how it came to.
Made = Callable[[Committed], None]


def in_few_pieces(
    session: Session, spec: JobSpec, run: Run, store: Store, segments: Sequence[Segment], made: Made
) -> Sequence[Segment]:
    """The same bytes in as few segments as ``store`` takes.

    Raises what composing raises, and ForeignObject where something else stands at a key.
    """
    if not isinstance(store, Stages):
        return segments
    return [
        _stage(session, spec, run, store, runs, made) if len(runs) > 1 else runs[0]
        for runs in store.stages(segments)
    ]


def _stage(
    session: Session, spec: JobSpec, run: Run, store: Store, group: Sequence[Segment], made: Made
) -> CopyRun:
    runs = [segment for segment in group if isinstance(segment, CopyRun)]
    digest = _digest(runs)
    key = keys.stage_key(spec.plan.job_id, digest)
    metadata = session.metadata(spec, run, f"stage/{digest}", digest=digest)
    committed = commit_composed(
        store, key, runs, IfAbsent(), _CONTENT_TYPE, metadata, session.policy, session.effects
    )
    made(committed)
    stored, size_bytes = committed.stored, sum(run.size_bytes for run in runs)
    if stored.metadata.get("digest") != digest or stored.size_bytes != size_bytes:
        raise ForeignObject(f"{session.store.object_uri(key)} is not what its key says: remove it")
    return CopyRun(key, stored.etag, 0, size_bytes, _crc(runs))


def _digest(runs: Sequence[CopyRun]) -> str:
    """Of what the runs are ranges of, by key and ETag."""
    lines = [f"{run.key}\n{run.etag}\n{run.offset}+{run.size_bytes}\n" for run in runs]
    return hashlib.sha256("".join(lines).encode()).hexdigest()[:32]


def _crc(runs: Sequence[CopyRun]) -> int | None:
    """The CRC-32 of all runs together, where that of each is known."""
    if any(run.crc is None for run in runs):
        return None
    crc = 0
    for run in runs:
        crc = crc32_combine(crc, run.crc or 0, run.size_bytes)
    return crc

"""Small files of a job, written whole and under a condition: preview and item."""

import hashlib

from scenemosaic.committing.commit import Committed, commit_object
from scenemosaic.session import JobSpec, Run, Session
from scenemosaic.stores.port import Body, Condition, IfMatch


def put_small(
    session: Session,
    spec: JobSpec,
    run: Run,
    key: str,
    data: bytes,
    content_type: str,
    condition: Condition,
) -> Committed:
    """Commit ``data`` at ``key``, a file of the job below ``mosaics/``."""
    sha256 = hashlib.sha256(data).hexdigest()
    name = key.partition(f"{spec.plan.job_id}/")[2]
    if isinstance(condition, IfMatch):
        name = f"{name}/{sha256[:16]}"  # of this very change
    body = Body(data, sha256, content_type, session.metadata(spec, run, name, sha256=sha256))
    return commit_object(session.store, key, body, condition, session.policy, session.effects)

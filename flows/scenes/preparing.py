"""What a run writes before its first window: the manifest's table, and the plan."""

from collections.abc import Callable

from flows.engines.engine import THREADS, Engine
from flows.engines.reaching import check_answers
from flows.redact import public_manifest
from scenemosaic import job, keys
from scenemosaic.auditing.trail import Trace
from scenemosaic.committing.commit import retrying
from scenemosaic.errors import IncompleteError
from scenemosaic.job import JobSpec, Run
from scenemosaic.session import open_session


def prepare_job(
    spec: JobSpec, run: Run, say: Callable[[str], None], engine: Engine = THREADS
) -> Trace:
    """Make table or schema where missing, saying so, and publish ``plan.json``.

    Raises NobodyAnswers before that, where ``engine`` has an address; StoreError where manifest
    or root cannot be written.
    """
    check_answers(engine)
    _find_root(spec)
    if job.prepare(spec):
        say(f"made the manifest {public_manifest(spec.manifest)}")
    return job.publish_plan(spec, run)


def _find_root(spec: JobSpec) -> None:
    """Raise StoreError where the root cannot be asked, before anything is made for it.

    A GET, because the answer to a HEAD does not tell a missing bucket from a missing key.
    """
    session = open_session(spec)
    key = keys.plan_key(spec.plan.job_id)
    try:
        retrying(lambda: session.store.get(key), session.policy, session.effects)
    except IncompleteError:
        # The plan is not there yet; the root is.
        return

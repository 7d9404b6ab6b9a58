"""The plan of a job as the store holds it."""

from scenemosaic import keys
from scenemosaic.committing.commit import retrying
from scenemosaic.errors import IncompleteError, PlanLost
from scenemosaic.job_rows import has_rows
from scenemosaic.next_step import command
from scenemosaic.places import Place
from scenemosaic.plans.plan import MAX_PLAN_BYTES, Plan, job_id_of, load_plan
from scenemosaic.plans.whole_id import no_such_job
from scenemosaic.session import Session, open_place


def read_plan(place: Place, job_id: str) -> Plan:
    """The plan of ``job_id``.

    Raises InputError where there is no such job, or the plan is one of a newer version;
    PlanLost where it is damaged, or gone and other things of the job are there; NotAnObject,
    Unreadable and RetentionError as :meth:`scenemosaic.stores.port.Get.get` does.
    """
    session = open_place(place)
    key = keys.plan_key(keys.check_job_id(job_id))
    uri = session.store.object_uri(key)
    try:
        data = retrying(
            lambda: session.store.get(key, 0, MAX_PLAN_BYTES + 1), session.policy, session.effects
        )
    except IncompleteError as absent:
        if not _is_left(session, job_id):
            raise no_such_job(place.store, job_id, f"{key} is not there") from absent
        raise _lost(f"{uri} is gone", job_id, place) from absent
    if len(data) > MAX_PLAN_BYTES:
        raise _lost(f"{uri} is too large for a plan: {MAX_PLAN_BYTES} bytes at most", job_id, place)
    if (found := job_id_of(data)) != job_id:
        raise _lost(f"{uri} is damaged: it hashes to {found}", job_id, place)
    return load_plan(data, job_id)


def _lost(what: str, job_id: str, place: Place) -> PlanLost:
    repair = command("repair", job_id, place)
    return PlanLost(f"{what}; next: {repair} [--source PATH], which puts it back")


def _is_left(session: Session, job_id: str) -> bool:
    """Whether an object or a row of a job is there."""

    def any_object() -> bool:
        folders = keys.tiles_prefix(job_id), keys.folder_of(keys.item_key(job_id))
        return any(True for folder in folders for _ in session.store.list(folder))

    if retrying(any_object, session.policy, session.effects):
        return True
    return has_rows(session, keys.partition(job_id, session.store.uri))

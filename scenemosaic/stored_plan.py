"""The plan of a job as the store holds it."""

from scenemosaic import keys
from scenemosaic.committing.commit import RetryPolicy, retrying, system_effects
from scenemosaic.errors import InputError
from scenemosaic.places import Place
from scenemosaic.plans.plan import MAX_PLAN_BYTES, Plan, load_plan
from scenemosaic.plans.whole_id import no_such_job
from scenemosaic.session import open_place


def read_plan(place: Place, job_id: str) -> Plan:
    """The plan of ``job_id``. Raises InputError where there is none, or it is damaged."""
    store = open_place(place).store
    key, policy, effects = keys.plan_key(keys.check_job_id(job_id)), RetryPolicy(), system_effects()
    info = retrying(lambda: store.head(key), policy, effects)
    if info is None:
        raise no_such_job(place.store, job_id, f"{key} is not there")
    if info.size_bytes > MAX_PLAN_BYTES:
        raise InputError(f"{store.object_uri(key)} is too large for a plan: {info.size_bytes}")
    return load_plan(retrying(lambda: store.get(key), policy, effects), job_id)

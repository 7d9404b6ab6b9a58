"""The plan of a job as the store holds it."""

from scenemosaic import keys
from scenemosaic.committing.commit import RetryPolicy, retrying, system_effects
from scenemosaic.errors import InputError
from scenemosaic.places import Place
from scenemosaic.plans.plan import MAX_PLAN_BYTES, Plan, load_plan
from scenemosaic.roots import is_there, parse_root
from scenemosaic.stores import open_store


def read_plan(place: Place, job_id: str) -> Plan:
    """The plan of ``job_id``. Raises InputError where there is none, or it is damaged."""
    store = open_store(place.store.root, place.store.access)
    key, policy, effects = keys.plan_key(keys.check_job_id(job_id)), RetryPolicy(), system_effects()
    info = retrying(lambda: store.head(key), policy, effects)
    if info is None:
        there = is_there(parse_root(place.store.root))
        why = f"{key} is not there" if there else "there is no folder: is the root spelled right?"
        raise InputError(f"{store.uri} holds no job {job_id}: {why}")
    if info.size_bytes > MAX_PLAN_BYTES:
        raise InputError(f"{store.object_uri(key)} is too large for a plan: {info.size_bytes}")
    return load_plan(retrying(lambda: store.get(key), policy, effects), job_id)

"""The flow ``watch-ledger``: raises an event where a run holds a ledger for too long.

No postponed annotations in here: Prefect reads them as they stand.
"""

from typing import Any, Final

from prefect import flow
from prefect.client.schemas.objects import State
from prefect.events import emit_event
from prefect.states import Completed

from flows.forms.checked import checked
from flows.forms.parameters import Age, LedgerName, Store, To
from flows.forms.places import store_of
from flows.forms.run_names import ledger_run
from flows.reports.states import error_state
from flows.texts import ledger as ledger_text
from scenemosaic.ages import age_s
from scenemosaic.errors import SceneMosaicError
from scenemosaic.ledger.book import DEFAULT_NAME, open_book
from scenemosaic.ledger.survey import Survey, survey
from scenemosaic.places import StorePlace
from scenemosaic.publishing.pointer import read_latest
from scenemosaic.roots import check_there
from scenemosaic.stores import open_store
from scenemosaic.waiting.service_clock import now_utc

STALE_EVENT: Final = "scenemosaic.ledger.stale"


@flow(
    name="watch-ledger",
    flow_run_name=ledger_run,
    persist_result=False,
    validate_parameters=False,  # by checked
)
@checked
def watch_ledger(
    to: To = None, store: Store = None, ledger: LedgerName = DEFAULT_NAME, max_age: Age = "2h"
) -> "State[dict[str, object]]":
    """Look whether a run holds the ledger for too long. To be scheduled; changes nothing.

    Args:
        to: The root: a folder, s3://bucket/prefix, gs://… or az://…. Or give store.
        store: The name of a Scene Store block, instead of to.
        ledger: The ledger's name.
        max_age: How long a run may be active, as 2h, 30m, 1d.
    """
    try:
        max_age_s = age_s(max_age, "max_age")
        place = store_of(to, store)
        found, value = _look(place, ledger)
    except SceneMosaicError as error:
        return error_state(error, error)
    if not found.is_stale(max_age_s):
        name = "LedgerFree" if found.state.active is None else "LedgerHeld"
        return Completed(name=name, data=value)
    _emit(place.root, found, max_age_s)
    return Completed(name="LedgerStale", message=ledger_text.stale(found, max_age), data=value)


def _look(place: StorePlace, ledger: str) -> tuple[Survey, dict[str, Any]]:
    check_there(place.root)
    store = open_store(place.root, place.access)
    try:
        found = survey(open_book(store, ledger).existing(), now_utc())
        return found, ledger_text.as_json(found, store.uri, read_latest(store))
    finally:
        store.close()


def _emit(root: str, found: Survey, max_age_s: int) -> None:
    active = found.state.active
    emit_event(
        STALE_EVENT,
        resource={
            "prefect.resource.id": f"scenemosaic.ledger.{found.state.name}",
            "scenemosaic.root": root,
        },
        payload={
            "run_id": "" if active is None else active.run_id,
            "job_id": "" if active is None else active.job_id,
            "age_s": round(found.age_s or 0),
            "max_age_s": max_age_s,
        },
    )

"""``scenemosaic ledger``: show and clear, without Prefect."""

from flows.runs import command_run
from flows.terminal.console import Console, complain
from flows.texts import ledger as ledger_text
from scenemosaic.ages import age_s
from scenemosaic.errors import LeaseHeld
from scenemosaic.ledger.book import open_book
from scenemosaic.ledger.log import recorded
from scenemosaic.ledger.rules import Ended, NotActive
from scenemosaic.ledger.state import Cleared
from scenemosaic.ledger.survey import survey
from scenemosaic.ledger.text import entry_json
from scenemosaic.moments import rfc3339
from scenemosaic.places import StorePlace
from scenemosaic.publishing.pointer import read_latest
from scenemosaic.roots import check_there
from scenemosaic.store_session import StoreSession
from scenemosaic.stores import open_store
from scenemosaic.waiting.service_clock import now_utc


def show(
    name: str, place: StorePlace, max_age: str | None, time_zone: str | None, console: Console
) -> int:
    """The ledger as it stands; 4 where its run is active for longer than ``max_age``.

    Raises InputError where there is no such ledger: a mistyped name must not look like a free one.
    """
    max_age_s = None if max_age is None else age_s(max_age, "--max-age")
    check_there(place.root)
    store = open_store(place.root, place.access)
    try:
        state, latest = open_book(store, name).existing(), read_latest(store)
    finally:
        store.close()
    found = survey(state, now_utc(), time_zone)
    stale = max_age_s is not None and found.is_stale(max_age_s)
    value = ledger_text.as_json(found, store.uri, latest)
    console.answer(value | {"stale": stale}, ledger_text.as_text(found, latest))
    if stale:
        complain(ledger_text.stale(found, str(max_age)))
    return LeaseHeld.exit_code if stale else 0


def clear(name: str, place: StorePlace, run_id: str, reason: str, console: Console) -> int:
    """Clear exactly this run; 4 where it is not the active one, and nothing is changed then."""
    run = command_run()
    cleared = Cleared(run.operator, reason)
    store = open_store(place.root, place.access)
    try:
        with recorded(StoreSession(store), name, run) as session:
            book = open_book(store, name, effects=session.effects)
            answer = book.clear(run_id, cleared).answer
    finally:
        store.close()
    if isinstance(answer, NotActive):
        return console.fail(LeaseHeld(_not_active(name, run_id, answer)))
    ours = answer.entry.end == cleared
    value = {"ledger": name, "root": store.uri, "cleared": entry_json(answer.entry)}
    console.answer(value, _cleared(name, answer, ours))
    return 0


def _cleared(name: str, answer: Ended, ours: bool) -> str:
    run_id, end = answer.entry.reservation.run_id, answer.entry.end
    if ours or not isinstance(end, Cleared):
        return f"run {run_id} is cleared from the ledger {name!r}; its slot stays used"
    when = rfc3339(answer.entry.ended_at)
    return f"run {run_id} was cleared before, by {end.by} at {when}: {end.reason}"


def _not_active(name: str, run_id: str, answer: NotActive) -> str:
    text = f"run {run_id} does not hold the ledger {name!r}"
    if answer.entry is not None:
        text += f": it published job {answer.entry.reservation.job_id} and ended by itself"
    holder = "nobody" if answer.active is None else f"run {answer.active.run_id}"
    return f"{text}; {holder} holds it, and nothing was changed"

"""A ledger's JSON, strictly read: it comes from outside, and a wrong one is never repaired."""

from collections.abc import Callable
from datetime import datetime
from typing import Final, TypeVar

from scenemosaic.canonical import Fields, decode, encode, without
from scenemosaic.errors import ForeignObject, InputError
from scenemosaic.ledger.state import Cleared, Entry, Published, Reservation, State
from scenemosaic.moments import rfc3339

T = TypeVar("T")
SCHEMA: Final = 1
MAX_BYTES: Final = 1 << 20
_SCHEMA: Final = "scenemosaic_ledger"
_NO_RESERVATION: Final[dict[str, object]] = {"operator": "", "approved_by": None}


def dump(state: State) -> bytes:
    """The bytes of a state."""
    value = {
        _SCHEMA: SCHEMA,
        "name": state.name,
        "revision": state.revision,
        "write_id": state.write_id,
        "active": None if state.active is None else reservation_json(state.active),
        "history": [entry_json(entry) for entry in state.history],
    }
    return encode(value)


def load(data: bytes, name: str, uri: str) -> State:
    """The state in ``data``. Raises ForeignObject, naming ``uri``, for anything else."""
    try:
        state = _state(decode(data, "the ledger"))
        if state.name != name:
            raise InputError(f"it is the ledger {state.name!r}")
    except InputError as error:
        raise ForeignObject(
            f"{uri} is no ledger {name!r} that this version can read: {error}. Restore the version "
            "before the one that stands there, or upgrade scenemosaic if a newer one wrote it"
        ) from error
    return state


def reservation_json(one: Reservation) -> dict[str, object]:
    """A reservation as JSON; what is not known is left out."""
    value: dict[str, object] = {
        "run_id": one.run_id,
        "job_id": one.job_id,
        "since": rfc3339(one.since),
        "slots": one.slots,
        "time_zone": one.time_zone,
        "operator": one.operator,
        "approved_by": one.approved_by,
    }
    return without(value, _NO_RESERVATION)


def entry_json(entry: Entry) -> dict[str, object]:
    """An entry as JSON: the reservation, and ``published`` or ``cleared``."""
    value = reservation_json(entry.reservation) | {"ended_at": rfc3339(entry.ended_at)}
    match entry.end:
        case Published(revision, digest, etag, version_id):
            end: dict[str, object] = {"revision": revision, "digest": digest, "etag": etag}
            return value | {
                "published": end | without({"version_id": version_id}, {"version_id": None})
            }
        case Cleared(by, reason):
            return value | {"cleared": {"by": by, "reason": reason}}


def _state(value: object) -> State:
    fields = Fields(value, "ledger")
    if (schema := fields.typed(_SCHEMA, int)) != SCHEMA:
        raise InputError(f"its schema is {schema}, and this version knows {SCHEMA}")
    active = fields.take("active")
    state = State(
        name=fields.typed("name", str),
        revision=fields.typed("revision", int),
        write_id=fields.typed("write_id", str),
        active=None if active is None else _whole(active, "ledger.active", _reservation),
        history=tuple(
            _whole(entry, f"ledger.history[{number}]", _entry)
            for number, entry in enumerate(fields.items("history"))
        ),
    )
    fields.done()
    return state


def _whole(value: object, where: str, read: Callable[[Fields], T]) -> T:
    """What ``read`` makes of an object of which it must take every field."""
    fields = Fields(value, where)
    found = read(fields)
    fields.done()
    return found


def _reservation(fields: Fields) -> Reservation:
    return Reservation(
        run_id=fields.typed("run_id", str),
        job_id=fields.typed("job_id", str),
        since=_time(fields, "since"),
        slots=fields.typed("slots", int),
        time_zone=fields.typed("time_zone", str),
        operator=fields.typed("operator", str, ""),
        approved_by=fields.typed("approved_by", str, None),
    )


def _entry(fields: Fields) -> Entry:
    reservation, ended_at = _reservation(fields), _time(fields, "ended_at")
    published, cleared = fields.take("published", None), fields.take("cleared", None)
    if (published is None) == (cleared is None):
        raise InputError(f"run {reservation.run_id} is either published or cleared")
    end: Published | Cleared = (
        _whole(cleared, "cleared", _cleared)
        if published is None
        else _whole(published, "published", _published)
    )
    return Entry(reservation, ended_at, end)


def _published(fields: Fields) -> Published:
    return Published(
        fields.typed("revision", int),
        fields.typed("digest", str),
        fields.typed("etag", str),
        fields.typed("version_id", str, None),
    )


def _cleared(fields: Fields) -> Cleared:
    return Cleared(fields.typed("by", str), fields.typed("reason", str))


def _time(fields: Fields, name: str) -> datetime:
    text: str = fields.typed(name, str)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise InputError(f"{name} is no time: {text!r:.80}") from error
    if moment.tzinfo is None:
        raise InputError(f"{name} has no time zone: {text!r:.80}")
    return moment

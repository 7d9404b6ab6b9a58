"""One window as it stands: its row, its object, and what is wrong with them."""

from collections.abc import Callable
from dataclasses import replace
from typing import Final, TypeVar

from scenemosaic import keys
from scenemosaic.committing import history
from scenemosaic.committing.commit import retrying
from scenemosaic.errors import NotAnObject, PermanentStoreError, RetentionError, Unreadable
from scenemosaic.job_rows import BadRow, readable_row_of
from scenemosaic.manifests.port import Row
from scenemosaic.session import JobSpec, Session
from scenemosaic.stores.port import ObjectInfo
from scenemosaic.verification import rules
from scenemosaic.verification.content import read_tile
from scenemosaic.verification.findings import Finding, Kind, WindowState
from scenemosaic.verification.reading import Replaced, reader

T = TypeVar("T")
_LOOKS: Final = 5
# Of a read, both are of this one object: an archive tier, its own permissions.
UNREADABLE: Final = (RetentionError, Unreadable)


def inspect_window(
    session: Session, spec: JobSpec, number: int, row: Row | BadRow | None, *, deep: bool
) -> WindowState:
    """The window's object compared with ``row``, its row as queried (None where there is none).

    Of a row that does not decode the state has none, and a finding. Reads the object once,
    pinned to the version that its HEAD named; changes nothing.
    With ``deep`` every block is decoded. Raises Replaced where the object is replaced
    faster than it can be read.
    """
    if not isinstance(row, BadRow):
        return looked_again(lambda: _inspect(session, spec, number, row, deep=deep))
    state = looked_again(lambda: _inspect(session, spec, number, None, deep=deep))
    others = [one for one in state.findings if one.kind is not Kind.MISSING_ROW]
    return replace(state, findings=(bad_row(state.name, row), *others))


def inspect_as_it_stands(session: Session, spec: JobSpec, number: int) -> WindowState:
    """The same with the window's row as it is now; not deep."""
    row = readable_row_of(session, spec, number)
    return inspect_window(session, spec, number, row, deep=False)


def looked_again(look: Callable[[], T]) -> T:
    """``look()``, again where what it looks at is replaced meanwhile."""
    for _ in range(_LOOKS - 1):
        try:
            return look()
        except Replaced:
            continue
    return look()


def _inspect(
    session: Session, spec: JobSpec, number: int, row: Row | None, *, deep: bool
) -> WindowState:
    recipe, job_id = spec.plan.recipe, spec.plan.job_id
    window = recipe.tiling().window(number)
    key = keys.tile_key(job_id, window.name)
    info = found_at(session, window.name, key)
    if isinstance(info, Finding):
        return WindowState(number, window.name, row, None, (info,))
    if info is None:
        found = absent(window.name) if row is None else gone(session, window.name, key, row)
        return WindowState(number, window.name, row, None, (found,))
    try:
        content = read_tile(reader(session, info), info.size_bytes, window, recipe, deep=deep)
    except UNREADABLE as error:
        return WindowState(number, window.name, row, info, (unreadable(window.name, error),))
    uri = session.store.object_uri(key)
    findings = tuple(rules.of_tile(window.name, job_id, row, uri, info, content))
    return WindowState(number, window.name, row, info, findings)


def found_at(session: Session, subject: str, key: str) -> ObjectInfo | Finding | None:
    """What stands at a key; a finding where that is no object of the store."""
    try:
        return head(session, key)
    except NotAnObject as error:
        return Finding(subject, Kind.NOT_AN_OBJECT, str(error))
    except UNREADABLE as error:
        return unreadable(subject, error)


def unreadable(subject: str, error: PermanentStoreError) -> Finding:
    """The finding of an object that stands there, and of which no more can be said."""
    return Finding(subject, Kind.UNREADABLE, str(error))


def head(session: Session, key: str) -> ObjectInfo | None:
    """What stands at a key, asked again where the store was busy."""
    return retrying(lambda: session.store.head(key), session.policy, session.effects)


def bad_row(subject: str, row: BadRow) -> Finding:
    """The finding of a row that does not decode."""
    return Finding(subject, Kind.BAD_ROW, row.problem)


def absent(subject: str) -> Finding:
    """The finding where neither a row nor an object was ever made."""
    return Finding(subject, Kind.MISSING_ROW, "neither row nor object")


def gone(session: Session, subject: str, key: str, row: Row | None = None) -> Finding:
    """The finding where nothing stands at ``key``, though something should."""
    text = f"{session.store.object_uri(key)} is gone"
    text += f"; its row says {row.bytes} bytes" if row else ""
    try:
        past = history.look(session.store, key, session.policy, session.effects).get(key, ())
    except PermanentStoreError as error:  # the object is gone all the same
        return Finding(subject, Kind.MISSING_OBJECT, f"{text} (versions are not known: {error})")
    if not past:
        return Finding(subject, Kind.MISSING_OBJECT, text)
    return Finding(subject, Kind.DELETE_MARKER, f"{text}; still kept: {history.describe(past)}")

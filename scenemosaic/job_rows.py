"""The rows of a job one after the other, however many there are, also through a busy manifest."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from scenemosaic.committing.commit import retrying
from scenemosaic.errors import (
    InputError,
    MissingSchema,
    OldSchema,
    TransientStoreError,
    UnreadableRow,
)
from scenemosaic.grids.grid import Tiling
from scenemosaic.keys import MOSAIC_ROW
from scenemosaic.manifests.port import Outline, Row
from scenemosaic.session import JobSpec, Session
from scenemosaic.waiting.retry import Pacer

A = TypeVar("A")


def stream_rows(session: Session, spec: JobSpec) -> Iterator[Row]:
    """Every row of the job once, the mosaic's among them; of the manifest's pages a few are held.

    Where a page cannot be had in spite of trying again, TransientStoreError is raised.
    """
    seen: set[str] = set()
    pacer: Pacer | None = None
    while True:
        try:
            for row in session.manifest.rows(session.partitions(spec)):
                if row.window not in seen:
                    seen.add(row.window)
                    pacer = None
                    yield row
            return
        except OldSchema:
            raise
        except MissingSchema:  # nothing was ever committed there
            return
        except TransientStoreError as error:
            pacer = pacer or Pacer(session.policy, session.effects)
            if not pacer.again(error.retry_after_s):
                raise


@dataclass(frozen=True, slots=True)
class BadRow:
    """A row of which only its name can be read, and why."""

    window: str
    problem: str


def readable_rows(session: Session, spec: JobSpec) -> Iterator[Row | BadRow]:
    """:func:`stream_rows`, with what does not decode as a value; then rows are asked for singly."""
    seen: set[str] = set()
    try:
        for row in stream_rows(session, spec):
            seen.add(row.window)
            yield row
    except UnreadableRow:
        for partition in session.partitions(spec):
            for name in _names(session, [partition]):
                if name not in seen and (found := readable_row(session, partition, name)):
                    yield found


def readable_row(session: Session, partition: str, name: str) -> Row | BadRow | None:
    """The row of this name as it stands now, also where it does not decode."""
    try:
        return _row(session, partition, name)
    except UnreadableRow as error:
        return BadRow(name, str(error))


def outlined_names(session: Session, spec: JobSpec) -> tuple[list[str], Outline | None]:
    """:func:`row_names`, and what the mosaic's row is about, by the same requests."""
    first, *others = session.partitions(spec)
    outlines = _asked(session, lambda: [*session.manifest.outlines(first)], list[Outline]())
    own = next((one for one in outlines if one.window == MOSAIC_ROW), None)
    names = [one.window for one in outlines]
    return names + (_names(session, others) if others else []), own


def row_names(session: Session, spec: JobSpec) -> list[str]:
    """The names of all windows that have a row, the mosaic's among them."""
    return _names(session, session.partitions(spec))


def _names(session: Session, partitions: Sequence[str]) -> list[str]:
    return _asked(session, lambda: list(session.manifest.windows(partitions)), [])


def _asked(session: Session, ask: Callable[[], A], nothing: A) -> A:
    """What ``ask`` finds, tried again; ``nothing`` where nothing was ever committed."""

    def once() -> A:
        try:
            return ask()
        except OldSchema:
            raise
        except MissingSchema:
            return nothing

    return retrying(once, session.policy, session.effects)


def rows_of(
    session: Session, spec: JobSpec, numbers: Sequence[int]
) -> Iterator[tuple[int, Row | BadRow | None]]:
    """The rows of some windows, each asked for by its key."""
    for number in numbers:
        yield number, readable_row_of(session, spec, number)


def row_of(session: Session, spec: JobSpec, number: int) -> Row | None:
    """The row of a window as it stands now. Raises UnreadableRow."""
    return _row(session, session.partition(spec, number), _name(spec, number))


def readable_row_of(session: Session, spec: JobSpec, number: int) -> Row | BadRow | None:
    """The same, also where it does not decode."""
    return readable_row(session, session.partition(spec, number), _name(spec, number))


def _name(spec: JobSpec, number: int) -> str:
    return spec.plan.recipe.tiling().window(number).name


def _row(session: Session, partition: str, name: str) -> Row | None:
    return _asked(session, lambda: session.manifest.get(partition, name), None)


def has_rows(session: Session, partition: str) -> bool:
    """Whether a partition holds a row."""

    def ask() -> bool:
        try:
            return any(True for _ in session.manifest.windows([partition]))
        except MissingSchema:
            return False

    return retrying(ask, session.policy, session.effects)


def window_number(tiling: Tiling, name: str) -> int | None:
    """The number of the window of this very name, None where the plan has none."""
    try:
        number = tiling.number(name)
    except (InputError, ValueError):  # ValueError: digits that int() does not read
        return None
    return number if tiling.window(number).name == name else None

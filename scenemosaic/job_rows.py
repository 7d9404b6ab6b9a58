"""The rows of a job one after the other, however many there are, also through a busy manifest."""

from collections.abc import Iterator, Sequence

from scenemosaic.committing.commit import retrying
from scenemosaic.errors import InputError, MissingSchema, OldSchema, TransientStoreError
from scenemosaic.grids.grid import Tiling
from scenemosaic.manifests.port import Row
from scenemosaic.session import JobSpec, Session
from scenemosaic.waiting.retry import Pacer


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


def row_names(session: Session, spec: JobSpec) -> list[str]:
    """The names of all windows that have a row, the mosaic's among them."""

    def names() -> list[str]:
        try:
            return list(session.manifest.windows(session.partitions(spec)))
        except OldSchema:
            raise
        except MissingSchema:  # nothing was ever committed there
            return []

    return retrying(names, session.policy, session.effects)


def rows_of(
    session: Session, spec: JobSpec, numbers: Sequence[int]
) -> Iterator[tuple[int, Row | None]]:
    """The rows of some windows, each asked for by its key."""
    for number in numbers:
        yield number, row_of(session, spec, number)


def row_of(session: Session, spec: JobSpec, number: int) -> Row | None:
    """The row of a window as it stands now."""
    partition = session.partition(spec, number)
    name = spec.plan.recipe.tiling().window(number).name

    def get() -> Row | None:
        try:
            return session.manifest.get(partition, name)
        except OldSchema:
            raise
        except MissingSchema:
            return None

    return retrying(get, session.policy, session.effects)


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

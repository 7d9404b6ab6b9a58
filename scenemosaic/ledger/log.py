"""A ledger's own audit log: who was refused a change of it, or of what is published under it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

from scenemosaic import keys
from scenemosaic.auditing.trail import tell, trail
from scenemosaic.session import Run
from scenemosaic.store_session import AnySession

S = TypeVar("S", bound=AnySession)


@contextmanager
def recorded(session: S, name: str, run: Run) -> Iterator[S]:
    """A session whose refusals are appended to the log of the ledger ``name``, after the work.

    One batch, and no request where nothing was refused; also where the work raises. What a
    fault keeps out of the log is a warning each, and changes nothing of what the work came to.
    """
    with trail(session, keys.ledger_log(name), run) as found:
        yield found.session
    tell(run, found.trace.unrecorded)

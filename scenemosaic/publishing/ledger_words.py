"""What a ledger's answers say to people: what is the matter, what to look at, what to do."""

import shlex

from scenemosaic.ages import spell_age
from scenemosaic.ledger.book import Book
from scenemosaic.ledger.rules import Blocked, Exhausted
from scenemosaic.ledger.state import Cleared, Entry, Reservation
from scenemosaic.moments import rfc3339
from scenemosaic.publishing.latest import Latest


def blocked(book: Book, root: str, answer: Blocked, latest: Latest | None) -> str:
    """Who holds the ledger, what to inspect, and how it is cleared if the holder is dead."""
    holder = answer.by
    who = f" for {holder.operator}" if holder.operator else ""
    return (
        f"the ledger {book.name!r} is held by run {holder.run_id}{who}, which publishes job "
        f"{holder.job_id} since {rfc3339(holder.since)} ({spell_age(answer.age_s)}). It frees "
        f"the ledger as it ends, and never by time. If it is dead, inspect first: that run, "
        f"`{show(book.name, root)}`, and mosaics/latest.json, which {_names(latest, holder)}; then "
        f"`{clear(book, root, holder.run_id)}`"
    )


def exhausted(answer: Exhausted) -> str:
    """How many slots the day has, and when the next one comes.

    That is not tomorrow where runs reserved by a clock that was ahead.
    """
    return (
        f"{answer.used} of {answer.slots} slots of {answer.day.isoformat()} "
        f"({answer.time_zone}) are used up: allow more by --slots, or wait until one is free, "
        f"at {rfc3339(answer.next_day_at)}"
    )


def cleared(book: Book, run_id: str, entry: Entry | None) -> str:
    """That a run does not hold the ledger any more, and why as far as it is known."""
    text = f"run {run_id} does not hold the ledger {book.name!r}"
    if entry is not None and isinstance(entry.end, Cleared):
        text = (
            f"run {run_id} was cleared from the ledger {book.name!r} by {entry.end.by} at "
            f"{rfc3339(entry.ended_at)} ({entry.end.reason})"
        )
    return f"{text}; to publish, start another run"


def superseded(entry: Entry, latest: Latest | None) -> str:
    """That a run published something which is not the latest any more."""
    reservation = entry.reservation
    now = "is gone" if latest is None else f"names job {latest.target.job_id} of {_run(latest)}"
    return (
        f"run {reservation.run_id} published job {reservation.job_id} at "
        f"{rfc3339(entry.ended_at)}, and mosaics/latest.json {now}; to publish again, start "
        "another run"
    )


def still_held(book: Book, root: str, run_id: str) -> str:
    """What a run leaves behind that fails while it holds the ledger."""
    return (
        f"run {run_id} may still hold the ledger {book.name!r}: run it again under the same run "
        f"ID, or `{clear(book, root, run_id)}`"
    )


def show(ledger: str, root: str) -> str:
    """The command that shows the ledger."""
    return shlex.join(["scenemosaic", "ledger", "show", ledger, "--to", root])


def clear(book: Book, root: str, run_id: str) -> str:
    """The command that clears the run, but for its reason."""
    given = ["scenemosaic", "ledger", "clear", book.name, "--run-id", run_id, "--to", root]
    return f"{shlex.join(given)} --reason TEXT"


def _names(latest: Latest | None, holder: Reservation) -> str:
    if latest is None:
        return "is not there yet"
    if latest.run_id == holder.run_id:
        return f"names job {latest.target.job_id} of this very run: it is published"
    return f"names job {latest.target.job_id} of {_run(latest)}"


def _run(latest: Latest) -> str:
    return f"run {latest.run_id}, published {latest.published_at}"

"""A ledger for people and as JSON."""

from scenemosaic.ages import spell_age
from scenemosaic.ledger.state import Cleared, Entry
from scenemosaic.ledger.survey import Survey
from scenemosaic.ledger.text import entry_json, reservation_json
from scenemosaic.moments import rfc3339
from scenemosaic.publishing.latest import Latest

SHOWN = 10


def as_json(found: Survey, root: str, latest: Latest | None) -> dict[str, object]:
    """The contract of ``ledger show --json``; the history is whole, oldest first."""
    state, active = found.state, None
    if state.active is not None and found.age_s is not None:
        active = reservation_json(state.active) | {"age_s": round(found.age_s)}
    return {
        "ledger": state.name,
        "root": root,
        "revision": state.revision,
        "active": active,
        "day": found.day.isoformat(),
        "time_zone": found.time_zone,
        "used": found.used,
        "slots": found.slots,
        "latest": None if latest is None else _latest(latest),
        "history": [entry_json(entry) for entry in state.history],
    }


def as_text(found: Survey, latest: Latest | None) -> str:
    """The same, with the last entries of the history."""
    state = found.state
    of = "" if found.slots is None else f" of {found.slots}"
    lines = [
        f"ledger   {state.name} (revision {state.revision})",
        f"active   {_active(found)}",
        f"day      {found.day.isoformat()} ({found.time_zone}): {found.used}{of} slots used",
        f"latest   {_names(latest)}",
    ]
    lines += [f"{rfc3339(entry.ended_at)}  {_entry(entry)}" for entry in state.history[-SHOWN:]]
    if len(state.history) > SHOWN:
        lines.append(f"and {len(state.history) - SHOWN} before these (--json has all)")
    return "\n".join(lines)


def _active(found: Survey) -> str:
    active = found.state.active
    if active is None or found.age_s is None:
        return "nobody"
    return (
        f"run {active.run_id} for {active.operator or '-'}, job {active.job_id}, since "
        f"{rfc3339(active.since)} ({spell_age(found.age_s)})"
    )


def _names(latest: Latest | None) -> str:
    if latest is None:
        return "nothing was ever published"
    revision = latest.target.pinned.revision
    return f"job {latest.target.job_id}, revision {revision}, by run {latest.run_id}"


def _latest(latest: Latest) -> dict[str, object]:
    return {
        "job_id": latest.target.job_id,
        "revision": latest.target.pinned.revision,
        "run_id": latest.run_id,
        "ledger": latest.ledger,
    }


def _entry(entry: Entry) -> str:
    run, end = entry.reservation, entry.end
    if isinstance(end, Cleared):
        return f"cleared    run {run.run_id}, job {run.job_id}, by {end.by}: {end.reason}"
    approved = f", approved by {run.approved_by}" if run.approved_by else ""
    return f"published  run {run.run_id}, job {run.job_id}, revision {end.revision}{approved}"


def stale(found: Survey, max_age: str) -> str:
    """That a run is active for too long."""
    run_id = "" if found.state.active is None else found.state.active.run_id
    return (
        f"run {run_id} holds the ledger {found.state.name!r} for {spell_age(found.age_s or 0)}, "
        f"longer than {max_age}: is it alive?"
    )

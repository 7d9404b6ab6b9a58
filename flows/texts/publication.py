"""What a publication came to, as JSON, as text, and as a table."""

from flows.reports.scene import error_json
from scenemosaic.committing.mutable import STORM, SUPERSEDED
from scenemosaic.ledger.rules import Blocked, Exhausted
from scenemosaic.ledger.text import reservation_json
from scenemosaic.moments import rfc3339
from scenemosaic.publishing.publication import Publication


def exit_code(found: Publication) -> int:
    return 0 if found.conflict is None else found.conflict.exit_code


def outcome(found: Publication) -> str:
    """``published``, ``already-published``, or the conflict's kind."""
    if found.conflict is not None:
        return found.conflict.kind
    return "already-published" if found.already else "published"


def as_json(found: Publication) -> dict[str, object]:
    """The contract of ``publish --json``; with ``error`` and ``exit_code`` on a conflict.

    ``mosaic`` is what ``latest.json`` names now, whoever published it.
    """
    value: dict[str, object] = {
        "job_id": found.wanted.job_id,
        "run_id": found.wanted.run_id,
        "ledger": found.ledger,
        "outcome": outcome(found),
        "latest": _latest(found),
        "approved_by": found.wanted.approved_by,
        "counters": dict(found.counters),
        "storm": is_storm(found),
    }
    value |= _answer(found)
    return value if found.conflict is None else value | error_json(found.conflict)


def is_storm(found: Publication) -> bool:
    """Whether so many came first that somebody ought to know."""
    return found.counters.get(SUPERSEDED, 0) >= STORM


def as_text(found: Publication) -> str:
    """The result for people."""
    lines = [f"job      {found.wanted.job_id}", f"outcome  {outcome(found)}"]
    if found.latest is not None:
        pinned = found.latest.target.pinned
        lines += [
            f"latest   {found.latest.target.href} (revision {pinned.revision})",
            f"digest   {pinned.digest}",
        ]
    lines.append(f"ledger   {found.ledger} · run {found.wanted.run_id}")
    if is_storm(found):
        lines.append(f"storm    {found.counters[SUPERSEDED]} changes by others came first")
    return "\n".join(lines)


def table(found: Publication) -> list[dict[str, object]]:
    """The same as an artifact's rows: what it came to, then how commits went."""
    rows: dict[str, object] = {"outcome": outcome(found), "ledger": found.ledger}
    if found.latest is not None:
        rows |= {"latest": found.latest.target.href, "digest": found.latest.target.pinned.digest}
    rows |= {"approved_by": found.wanted.approved_by} if found.wanted.approved_by else {}
    rows |= {**found.counters, **({"storm": True} if is_storm(found) else {})}
    return [{"what": name, "value": value} for name, value in rows.items()]


def _latest(found: Publication) -> dict[str, object] | None:
    if found.latest is None:
        return None
    target = found.latest.target
    return {
        "job_id": target.job_id,
        "run_id": found.latest.run_id,
        "published_at": found.latest.published_at,
        "href": target.href,
        "revision": target.pinned.revision,
        "digest": target.pinned.digest,
        "etag": target.pinned.etag,
        "version_id": target.pinned.version_id,
        "bytes": target.size_bytes,
    }


def _answer(found: Publication) -> dict[str, object]:
    match found.answer:
        case Blocked(by, age_s):
            return {"held_by": reservation_json(by) | {"age_s": round(age_s)}}
        case Exhausted() as day:
            used = {"used": day.used, "slots": day.slots, "day": day.day.isoformat()}
            ends = {"time_zone": day.time_zone, "next_day_at": rfc3339(day.next_day_at)}
            return {"slots": used | ends}
    return {}

"""The jobs of a root, as ``scenemosaic jobs`` shows them."""

from dataclasses import asdict

from scenemosaic.plans.listing import Described, Listed, Listing
from scenemosaic.words import counted


def as_json(listing: Listing, latest: str | None) -> dict[str, object]:
    """The contract of ``jobs --json``: the newest first; ``more`` jobs were left out.

    A job is ``finished`` where its item.json is there, ``published`` where latest.json names it.
    """
    return {
        "root": listing.root,
        "jobs": [asdict(one) | {"published": one.job_id == latest} for one in listing.jobs],
        "total": listing.total,
        "more": listing.total - len(listing.jobs),
    }


def as_text(listing: Listing, latest: str | None) -> str:
    """A line a job, for people."""
    if not listing.total:
        return f"no job is under {listing.root}"
    lines = [_line(one, latest) for one in listing.jobs]
    more = listing.total - len(listing.jobs)
    if more:
        lines.append(f"… and {counted(more, 'older job')}: --limit {listing.total} shows all")
    return "\n".join(lines)


def _line(one: Listed, latest: str | None) -> str:
    state = "finished" if one.finished else "not finished"
    state = "published" if one.job_id == latest else state
    what = _described(one.plan) if one.plan is not None else one.problem
    line = f"{one.job_id}  {one.planned}  {state:12}  {what}"
    return "".join(char if char.isprintable() else "?" for char in line)


def _described(plan: Described) -> str:
    pixels = f"{plan.width} x {plan.height} pixels, {plan.bands} x {plan.dtype}"
    taken = f", taken {plan.datetime}" if plan.datetime else ""
    return f"{plan.name} ({pixels}, {counted(plan.windows, 'window')}{taken})"

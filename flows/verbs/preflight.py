"""``scenemosaic preflight``: the engine's report as a table, or as one JSON object."""

import logging
import secrets
import textwrap
from dataclasses import asdict

from flows.redact import public_manifest
from flows.reports.scene import error_json
from flows.terminal.console import Console, shown
from flows.terminal.progress import Meter, in_seconds
from flows.terminal.streams import Notes
from scenemosaic.manifests import open_manifest
from scenemosaic.places import Place
from scenemosaic.preflight.full import Effort, run_preflight
from scenemosaic.preflight.policy import PolicyFinding, check_policy
from scenemosaic.preflight.report import Cleanup, Report, Verdict
from scenemosaic.roots import check_there
from scenemosaic.stores import open_store
from scenemosaic.stores.port import Store
from scenemosaic.waiting.retry import RetryPolicy, system_effects
from scenemosaic.words import counted

_MANY = 5
_WIDTH = 100

_log = logging.getLogger(__name__)


def preflight(
    place: Place,
    rounds: int,
    deadline_s: float,
    console: Console,
    *,
    policy: bool = False,
) -> int:
    """Race store and manifest; 0 where every condition that jobs rely on is enforced.

    With ``policy`` also warn where a plain write to the ledger's prefix is accepted.
    """
    check_there(place.store.root)
    effort = Effort(rounds=rounds, deadline_s=deadline_s)
    meter = Meter(notes := Notes(), notes.isatty())
    store = open_store(place.store.root, place.store.access)
    rows = open_manifest(place.manifest.url, place.manifest.access)
    try:
        report = run_preflight(
            store, rows, effort, progress=lambda title, share: meter.update(share, title)
        )
        found = _policy(store) if policy else None
    finally:
        meter.close()
        store.close()
        rows.close()
    return _answered(report, found, public_manifest(place.manifest.url), console)


def _policy(store: Store) -> PolicyFinding:
    found = check_policy(store, secrets.token_hex(16), RetryPolicy(), system_effects())
    if found.verdict is Verdict.IGNORED:
        _log.warning(
            "%s; no policy denies it, so that other programs can write over a ledger. "
            "Put the bucket policy there that `scenemosaic policy ROOT` prints",
            found.seen,
        )
    return found


def _answered(report: Report, policy: PolicyFinding | None, manifest: str, console: Console) -> int:
    value, error = as_json(report, manifest), report.error()
    value |= {} if policy is None else {"policy": policy.to_json()}
    if error is None or not console.as_json:
        lines = [] if policy is None else [f"policy    {policy.verdict.value}: {policy.seen}"]
        console.answer(value, "\n".join([as_text(report, manifest), *lines]))
    return 0 if error is None else console.fail(error, value | error_json(error))


def as_json(report: Report, manifest: str) -> dict[str, object]:
    """``enforced`` tells the whole; ``left`` is what could not be taken away again."""
    return {
        "root": report.root,
        "manifest": manifest,
        "enforced": report.error() is None,
        "checks": [result.to_json() for result in report.results],
        "counters": dict(report.counters),
        "made": [asdict(made) for made in report.cleanup.made],
        "left": [asdict(made) for made in report.cleanup.left],
        "left_because": report.cleanup.why,
        "seconds": round(report.seconds, 3),
    }


def as_text(report: Report, manifest: str) -> str:
    """The table for people, and what is left behind."""
    counts = " · ".join(f"{count} {name}" for name, count in report.counters.items())
    return "\n".join(
        [
            f"store     {shown(report.root)}",
            *_lines(report, "store"),
            f"manifest  {manifest}",
            *_lines(report, "manifest"),
            *_left(report.cleanup),
            f"{counts} · {counted(len(report.cleanup.made), 'probe')} · "
            f"{in_seconds(report.seconds)}",
        ]
    )


def _lines(report: Report, subject: str) -> list[str]:
    lines = []
    titles = max((len(result.title) for result in report.results), default=0)
    verdicts = max(len(verdict.value) for verdict in Verdict)
    for result in (one for one in report.results if one.subject == subject):
        head = f"  {result.title:{titles}}  {result.verdict.value:{verdicts}}  "
        lines += textwrap.wrap(
            result.finding.seen,
            width=_WIDTH,
            initial_indent=head,
            subsequent_indent=" " * len(head),
            break_long_words=False,
            break_on_hyphens=False,
        )
    return lines


def _left(cleanup: Cleanup) -> list[str]:
    if not cleanup.left:
        return []
    names = [f"  {one.uri}" + (f" version {one.version_id}" if one.version_id else "")
             for one in cleanup.left[:_MANY]]  # fmt: skip
    more = len(cleanup.left) - len(names)
    return [
        f"left behind: {counted(len(cleanup.left), 'probe')}, because {cleanup.why}; "
        "remove by hand what is named here",
        *names,
        *([f"  and {more} more (--json names them all)"] if more > 0 else []),
    ]

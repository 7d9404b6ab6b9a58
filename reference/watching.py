"""Events, metrics and the counts of a run."""

from collections.abc import Iterator, Mapping
from typing import Final

from prefect.events.actions import DoNothing

from flows.verbs.automating import wanted
from reference.markdown import code, table
from reference.scanned import described, spelled
from scenemosaic.committing import metrics
from scenemosaic.committing.outcome import COUNTERS, OF_WINDOWS, OVER_MARKER, Outcome

EVENTS: Final = {
    "scenemosaic.job.outcomes": "Every scene's run: how often each outcome occurred.",
    "scenemosaic.tile.already-present": "Windows that were there already: how many of how many.",
    "scenemosaic.mosaic.written": "The mosaic was made: URI, bytes, digest, revision.",
    "scenemosaic.mosaic.published": "`latest.json` names it now: job, revision, digest, ledger.",
    "scenemosaic.job.incomplete": "Windows are undone, or a store's fault ended the run.",
    "scenemosaic.ledger.stale": "A run holds a ledger for longer than it should: run, job, age.",
}
COUNTS: Final = {
    "written": "Committed by this run.",
    "already-present": "Another was faster, or an earlier run did it: the wanted state.",
    "superseded": "What was to be replaced has a newer version, which was left: a conflict.",
    "target-gone": "What was to be replaced is gone: a conflict.",
}
MET: Final = {
    metrics.REFUSALS: "Writes that a precondition refused. A success, not a fault.",
    "own_write_recovered": "Refusals by this run's own earlier request, whose reply was lost.",
    "conflict_409_retried": "S3's 409: the same request was sent again.",
    "ambiguous": "Time-outs, resets, 5xx and 429: sent again under the same condition.",
    OVER_MARKER: "Creates where something once stood and was deleted.",
    "diverged": "Another wrote other bytes of the same pixels; theirs stay.",
    "reused": "Windows that were taken over from an earlier job (`--reuse`).",
}

HEAD = """# Events and metrics

Made from the code. Events go to Prefect's server, at most one of a kind a run, with the resource
`scenemosaic.job.<job ID>` or `scenemosaic.ledger.<name>`.
"""


def page() -> str:
    """The page in Markdown."""
    return "\n".join([HEAD, *_events(), *_automations(), *_metrics()])


def _events() -> Iterator[str]:
    events = spelled(r"scenemosaic\.(job|tile|mosaic|ledger)\.[a-z-]+")
    yield "## Events"
    yield from _named("event", described(events, EVENTS, "watching.EVENTS"))


def _automations() -> Iterator[str]:
    yield "## Automations"
    yield ""
    yield "`scenemosaic automations` makes them; `--notify` says who is told."
    rows = ((one.name, str(one.description)) for one in wanted(DoNothing()))
    yield from table(("automation", "what"), rows)


def _metrics() -> Iterator[str]:
    outcomes = described({one.value for one in Outcome}, COUNTS, "watching.COUNTS")
    yield "## Metrics"
    yield ""
    yield "Counters of OpenTelemetry's API; they cost nothing where no SDK is configured."
    yield from _named(
        "counter",
        {
            metrics.REFUSALS: "Refused conditional writes, by `by`: store or manifest.",
            metrics.OUTCOMES: "What commits came to, by `outcome` and `of`: window or object.",
        },
    )
    yield "## Counts of a run"
    yield ""
    yield "In the `counters` of `--json`, the outcomes' table of the flow run, and the metrics."
    yield from _named("outcome", outcomes)
    yield "What commits met on their way:"
    met = {metrics.REFUSALS if name == "refused" else name for name in (*COUNTERS, *OF_WINDOWS)}
    yield from _named("count", described(met, MET, "watching.MET"))


def _named(head: str, said: Mapping[str, str]) -> Iterator[str]:
    yield from table((head, "what"), ((code(name), what) for name, what in said.items()))

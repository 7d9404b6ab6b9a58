"""Counters through OpenTelemetry's API: they cost nothing where no SDK is configured.

``ConditionalWritePreconditionFailed`` counts every refusal by a store or a
manifest, preflight's own included: a counter that never moves proves nothing.
``scenemosaic.outcomes`` counts what commits came to, by ``outcome`` and by what was
committed (``of``: a window, or another object: plan, mosaic, preview, item).
"""

from collections.abc import Mapping
from typing import Literal

from opentelemetry import metrics

REFUSALS = "ConditionalWritePreconditionFailed"
OUTCOMES = "scenemosaic.outcomes"

Subject = Literal["window", "object"]

_meter = metrics.get_meter("scenemosaic")
_refusals = _meter.create_counter(
    REFUSALS, unit="1", description="Conditional writes that a precondition refused: a success."
)
_outcomes = _meter.create_counter(
    OUTCOMES, unit="1", description="Outcomes of commits, recoveries and repeated attempts."
)


def count_refusal(by: Literal["store", "manifest"]) -> None:
    """One conditional write was refused."""
    _refusals.add(1, {"by": by})


def count_outcomes(counters: Mapping[str, int], of: Subject = "object") -> None:
    """What commits came to, such as ``written`` or ``already_present``."""
    for outcome, count in counters.items():
        if count:
            _outcomes.add(count, {"outcome": outcome, "of": of})

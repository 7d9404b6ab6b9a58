"""``scenemosaic plan``: a plan, and what it would take."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from flows.engines.limits import Limits
from flows.terminal.console import Console
from flows.texts import explain as explain_text
from flows.texts import plan as plan_text
from scenemosaic import job
from scenemosaic.explain.cost import prices_of
from scenemosaic.job import PlanOptions
from scenemosaic.places import Place

PLACEHOLDER: Final = "s3://bucket/prefix"  # for the root, where none is given


@dataclass(frozen=True, slots=True)
class Asked:
    """What the user asked for. ``placeholders``: which of root and manifest were not given."""

    sources: tuple[str, ...]
    place: Place
    options: PlanOptions
    explain: bool
    ratio: float
    prices: tuple[str, ...]
    placeholders: tuple[str, ...] = ()


def plan(asked: Asked, limits: Limits, console: Console) -> int:
    """Print the plan. Raises InputError; no root and no manifest is asked."""
    prices = prices_of(asked.prices)
    spec = job.plan_at(asked.sources, asked.place, asked.options)
    job.log_notes(spec)
    value = plan_text.as_json(spec, limits) | {"placeholders": list(asked.placeholders)}
    more = _said(asked.placeholders)
    if asked.explain:
        value |= {"explain": explain_text.as_json(spec, limits, asked.ratio, prices)}
        more += [explain_text.as_text(spec, limits, asked.ratio, prices)]
    console.answer(value, plan_text.as_text(spec, limits, *more))
    return 0


def _said(placeholders: Sequence[str]) -> list[str]:
    """That what is shown was not given, where so."""
    if not placeholders:
        return []
    are = "are placeholders" if len(placeholders) > 1 else "is a placeholder"
    return [f"to       {' and '.join(placeholders)} above {are}: --to ROOT shows your own keys"]

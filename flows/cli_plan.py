"""``scenemosaic plan``: a plan, and what it would take."""

from dataclasses import dataclass

from flows import explain_text, plan_text
from flows.console import Console
from flows.limits import Limits
from scenemosaic import job
from scenemosaic.explain.cost import prices_of
from scenemosaic.job import PlanOptions
from scenemosaic.places import Place


@dataclass(frozen=True, slots=True)
class Asked:
    """What the user asked for."""

    sources: tuple[str, ...]
    place: Place
    options: PlanOptions
    explain: bool
    ratio: float
    prices: tuple[str, ...]


def plan(asked: Asked, limits: Limits, console: Console) -> int:
    """Print the plan. Raises InputError; no root and no manifest is asked."""
    prices = prices_of(asked.prices)
    spec = job.plan_at(asked.sources, asked.place, asked.options)
    job.log_notes(spec)
    value, more = plan_text.as_json(spec, limits), list[str]()
    if asked.explain:
        value |= {"explain": explain_text.as_json(spec, limits, asked.ratio, prices)}
        more = [explain_text.as_text(spec, limits, asked.ratio, prices)]
    console.answer(value, plan_text.as_text(spec, limits, *more))
    return 0

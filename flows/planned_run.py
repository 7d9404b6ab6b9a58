"""A ``process-scene`` run of a scene that was planned in this very process."""

from collections.abc import Sequence
from typing import Any

from prefect.client.schemas.objects import State

from flows.limits import Limits
from flows.parameters import MOST_SOURCES, fields_of
from flows.process import process_scene
from flows.redact import public_manifest, public_source
from flows.session import ACTIVE, Session
from flows.tagged import tagged
from scenemosaic.plans.asked_again import options_of
from scenemosaic.plans.plan import PlanOptions


def process_planned(
    session: Session, limits: Limits, options: PlanOptions | None = None
) -> "State[Any]":
    """The run's final state. Prefect keeps its parameters: these hold no secret.

    What is really opened is the session's; a form holds no more than the first sources.
    ``options`` are what planning was asked for; left out, what it decided.
    """
    spec = session.spec
    token = ACTIVE.set(session)
    try:
        with tagged():
            state: State[Any] = process_scene(
                _public(spec.locations[:MOST_SOURCES]),
                spec.root,
                public_manifest(spec.manifest),
                recipe=fields_of(options or options_of(spec.plan)),
                title=spec.plan.title,
                reuse=spec.reuse,
                workers=limits.workers,
                windows_per_task=limits.windows_per_task,
                strict_history=limits.strict_history,
                engine=limits.engine.name,
                engine_address=limits.engine.address,
                return_state=True,
            )
    finally:
        ACTIVE.reset(token)
    return state


def _public(sources: Sequence[str]) -> list[str]:
    return [public_source(source) for source in sources]

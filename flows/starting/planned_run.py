"""A ``process-scene`` run of a scene that was planned in this very process."""

from typing import Any

from prefect.client.schemas.objects import State

from flows.engines.limits import Limits
from flows.forms.recipe_parameters import fields_of
from flows.forms.scene_parameters import scene_parameters
from flows.process import process_scene
from flows.scenes.session import ACTIVE, Session
from flows.server.tagged import tagged
from scenemosaic.plans.asked_again import options_of
from scenemosaic.plans.plan import PlanOptions


def process_planned(
    session: Session, limits: Limits, options: PlanOptions | None = None
) -> "State[Any]":
    """The run's final state. Prefect keeps its parameters: these hold no secret.

    What is really opened is the session's. ``options`` are what planning was asked for; left
    out, what it decided. Raises InputError where the flow would not take its parameters.
    """
    given = scene_parameters(session.spec, limits)
    recipe = fields_of(options or options_of(session.spec.plan))
    token = ACTIVE.set(session)
    try:
        with tagged():
            state: State[Any] = process_scene(**given, recipe=recipe, return_state=True)
    finally:
        ACTIVE.reset(token)
    return state

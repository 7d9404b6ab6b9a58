"""Planning: sources and options become a plan, or are refused by name."""

from scenemosaic.plan import PlanOptions
from scenemosaic.planning.survey import PlannedScene, plan_scene, survey

__all__ = ["PlanOptions", "PlannedScene", "plan_scene", "survey"]

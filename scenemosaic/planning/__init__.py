"""Planning: sources and options become a plan, or are refused by name."""

from scenemosaic.planning.survey import PlannedScene, plan_scene, survey
from scenemosaic.plans.plan import PlanOptions

__all__ = ["PlanOptions", "PlannedScene", "plan_scene", "survey"]

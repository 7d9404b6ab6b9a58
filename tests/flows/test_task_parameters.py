"""What tasks are given stays as it is while Prefect looks for runs and states in it."""

from typing import Any

from prefect.utilities.collections import visit_collection

from scenemosaic.plans.pin import Pin
from scenemosaic.plans.plan import Plan
from scenemosaic.recipes.recipe import Recipe
from scenemosaic.session import JobSpec
from tests.plan.test_plan import GRID


def test_a_job_that_another_thread_works_on_is_passed_on_as_it_is() -> None:
    recipe = Recipe(GRID, "uint16", 3, 0, False, 2048, predictor=2)
    plan = Plan((Pin(None, "a" * 64, None, None, 1234),), recipe)
    spec = JobSpec(plan, ("none",), "test:", "test:")

    def looked_at(value: Any, context: dict[str, Any]) -> Any:
        if value in (b"", ""):  # a field that is not filled yet: another thread fills it now
            hash(recipe)
            assert plan.job_id
        return value

    seen = visit_collection(
        spec, looked_at, return_data=True, max_depth=-1, remove_annotations=True, context={}
    )
    assert seen is spec

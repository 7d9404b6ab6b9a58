"""How a mosaic is made, as a flow's parameters say it.

No postponed annotations in here: Prefect reads them as they stand.
"""

from typing import Annotated

from pydantic import Field, ValidationError

from blocks.coding_rules import coding_rules
from blocks.forms import Group, LeftOut
from blocks.mosaic_recipe import MosaicRecipe, RecipeFields
from flows.forms.parameters import BlockName
from scenemosaic.errors import InputError
from scenemosaic.plans.plan import PlanOptions
from tasks.loading import load

Recipe = Annotated[RecipeFields | None, Group(coding_rules())]
RecipeBlock = Annotated[BlockName | None, Field(examples=["visual-jpeg"]), LeftOut()]


def options_of(
    recipe: RecipeFields | None, recipe_block: str | None, taken: str | None = None
) -> PlanOptions:
    """What planning is asked for: these fields, those of a Mosaic Recipe block, or the defaults.

    Raises InputError where both are given, or Prefect holds no such block.
    """
    if recipe is not None and recipe_block is not None:
        raise InputError("give recipe, or recipe_block (a block's name), and not both")
    if recipe_block is not None:
        recipe = load(MosaicRecipe, recipe_block).fields()
    return (recipe or RecipeFields()).options(taken)


def fields_of(options: PlanOptions) -> RecipeFields | None:
    """The form's fields of what was asked for, for Prefect's records; None where it has none."""
    known = {name: getattr(options, name) for name in RecipeFields.model_fields}
    try:
        lists = {name: list(known[name] or ()) for name in ("bands", "resolution", "bounds")}
        window = None if options.window == "auto" else options.window
        return RecipeFields(**known | lists | {"window": window})
    except ValidationError:  # a command line may ask for more than a form offers
        return None

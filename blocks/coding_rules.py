"""What a recipe's compression, level and effort have to be together, as a form is told it."""

from typing import Any, Final

from blocks.forms import absent, either, fields
from scenemosaic.recipes.recipe_rules import EFFORT_CODECS, LEVELS

_NO_EFFORT: Final = fields(effort={"const": "balanced"})


def coding_rules() -> dict[str, Any]:
    """Keywords of the recipe's JSON schema."""
    rules: dict[str, Any] = {}
    # From the last: of a form that leaves compression out, the first one's hold.
    for codec, levels in reversed([*LEVELS.items()]):
        rules = either(fields(compress={"const": codec}), _of(codec, levels), rules)
    return rules


def _of(codec: str, levels: range | None) -> dict[str, Any]:
    level = fields(level={"type": "null"} if levels is None else {"maximum": levels[-1]})
    if codec in EFFORT_CODECS:
        return level | either(absent("level"), {}, _NO_EFFORT)
    return {"properties": level["properties"] | _NO_EFFORT["properties"]}

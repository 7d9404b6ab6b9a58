"""The JSON schemas behind Prefect's forms."""

from dataclasses import dataclass
from typing import Any, Final

from pydantic import GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue

_BOUNDS: Final = (
    *("minimum", "maximum", "multipleOf"),
    *("minLength", "maxLength", "pattern"),
    *("minItems", "maxItems"),
    "not",
)


def lifted(schema: dict[str, Any]) -> None:
    """Put the bounds of a field that may be left out beside its alternatives; changes ``schema``.

    Within them a form only says that a value "is not valid under any of the given schemas".
    Null has no bounds, so both schemas admit the same values.
    """
    for kind in schema.get("anyOf", []):
        schema |= {name: kind.pop(name) for name in _BOUNDS if name in kind}


@dataclass(frozen=True)
class Group:
    """A model that may be left out: a form shows its fields, and says which of them is wrong.

    Beside null as an alternative, it would only say that none of the two fits. So a form
    never sends null, and whoever calls the flow may.
    """

    def __get_pydantic_json_schema__(
        self, core: Any, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        (model,) = (one for one in handler(core)["anyOf"] if one.get("type") != "null")
        return dict(model)


@dataclass(frozen=True)
class LeftOut:
    """:func:`lifted` for a flow's parameter: Prefect puts its own ``json_schema_extra`` there."""

    def __get_pydantic_json_schema__(
        self, core: Any, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        schema = handler(core)
        lifted(schema)
        return schema

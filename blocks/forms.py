"""The JSON schemas behind Prefect's forms."""

from collections.abc import Mapping
from dataclasses import dataclass, field
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


# What several fields have to be together. Conditions hold where a field is left out: Prefect
# checks a deployment's own parameters with whatever else is still to come.


def fields(**schemas: Mapping[str, Any]) -> dict[str, Any]:
    """That each of these fields, where it is given, fits its schema."""
    return {"properties": {name: dict(one) for name, one in schemas.items()}}


def absent(*names: str) -> dict[str, Any]:
    """That none of these fields is given; null is not."""
    return fields(**{name: {"type": "null"} for name in names})


def required(name: str, **schema: Any) -> dict[str, Any]:
    """That this field is given, and fits its schema."""
    return {"required": [name], **fields(**{name: schema})}


def either(
    condition: Mapping[str, Any], then: Mapping[str, Any], otherwise: Mapping[str, Any]
) -> dict[str, Any]:
    """That one of these holds. A form names the field that does not fit."""
    return {"if": dict(condition), "then": dict(then), "else": dict(otherwise)}


@dataclass(frozen=True)
class Group:
    """A model that may be left out: a form shows its fields, and says which of them is wrong.

    Beside null as an alternative, it would only say that none of the two fits. So a form
    never sends null, and whoever calls the flow may. ``rules`` are what its fields have to be
    together.
    """

    rules: Mapping[str, Any] = field(default_factory=dict)

    def __get_pydantic_json_schema__(
        self, core: Any, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        (model,) = (one for one in handler(core)["anyOf"] if one.get("type") != "null")
        handler.resolve_ref_schema(model).update(self.rules)
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

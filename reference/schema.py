"""Fields of a JSON schema as a table: flows' parameters and blocks are described by one."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from reference.markdown import code, table

Schema = Mapping[str, Any]
_HEADS = ("name", "type", "default", "what")


def fields(schema: Schema) -> Iterator[str]:
    """A row for each property that a person fills."""
    required = schema.get("required", ())
    shown = {
        name: field
        for name, field in schema.get("properties", {}).items()
        if name != "block_type_slug"
    }
    yield from table(_HEADS, (_row(name, one, name in required) for name, one in shown.items()))


def definitions(schema: Schema) -> Mapping[str, Schema]:
    """Nested models by their name; saved blocks of other packages are no model of ours."""
    found = {**schema.get("definitions", {}), **schema.get("$defs", {})}
    return {name: one for name, one in found.items() if "block_type_slug" not in one}


def _row(name: str, field: Schema, required: bool) -> tuple[str, ...]:
    default = "" if field.get("default") is None else json.dumps(field["default"])
    said = [field.get("description", ""), *_examples(field)]
    return (
        code(name),
        _type(field),
        "required" if required else code(default),
        " ".join(part for part in said if part),
    )


def _examples(field: Schema) -> Iterator[str]:
    examples = field.get("examples")
    if examples:
        yield "For example " + ", ".join(code(json.dumps(one)) for one in examples) + "."


def _type(field: Schema) -> str:
    if "$ref" in field:
        return str(field["$ref"]).rpartition("/")[2]
    if "enum" in field:
        return ", ".join(code(str(value)) for value in field["enum"])
    for several in ("anyOf", "oneOf", "allOf"):
        if several in field:
            return _either(field[several])
    if field.get("type") == "array":
        return f"list of {_type(field.get('items', {}))}"
    named = str(field.get("type", "any"))
    return f"{named} ({field['format']})" if "format" in field else named + _bounds(field)


def _either(choices: Sequence[Schema]) -> str:
    return " or ".join(_type(one) for one in choices if one.get("type") != "null")


def _bounds(field: Schema) -> str:
    least, most = field.get("minimum"), field.get("maximum")
    if least is None or most is None:
        return "" if least is None else f", from {least}"
    return f", {least} to {most}"

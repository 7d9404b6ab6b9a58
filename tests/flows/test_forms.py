"""The forms of Prefect's UI: every field described, bounded, and of a kind that can be typed."""

from collections.abc import Iterator
from typing import Any

import pytest

from flows.deployment_table import TABLE, Entry
from flows.serving import flow_of

ENTRIES = [pytest.param(entry, id=entry.entrypoint) for entry in TABLE]


def parameters(entry: Entry) -> dict[str, Any]:
    return flow_of(entry).parameters.model_dump()


def fields(schema: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    yield from schema["properties"].items()
    for name, model in schema["definitions"].items():
        for key, value in model.get("properties", {}).items():
            yield f"{name}.{key}", value


def kinds(value: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The alternatives of a field but null, and of a list its items' as well."""
    for one in value.get("anyOf", [value]):
        if one.get("type") != "null":
            yield value | one  # bounds stand beside the alternatives
            if "items" in one:
                yield from kinds(one["items"])


@pytest.mark.parametrize("entry", ENTRIES)
def test_every_field_says_what_it_is(entry: Entry) -> None:
    for name, value in fields(parameters(entry)):
        assert value.get("title"), name
        if "$ref" not in str(value) or "." not in name:
            assert value.get("description"), name


@pytest.mark.parametrize("entry", ENTRIES)
def test_numbers_and_texts_are_bounded(entry: Entry) -> None:
    bounds = {
        "integer": ("maximum",),
        "string": ("maxLength", "pattern", "enum", "format", "minLength", "const"),
        "array": ("maxItems",),
    }
    for name, value in fields(parameters(entry)):
        for one in kinds(value):
            wanted = bounds.get(one.get("type", ""))
            assert wanted is None or any(key in one for key in wanted), name


@pytest.mark.parametrize("entry", ENTRIES)
def test_no_field_wants_a_time_of_day(entry: Entry) -> None:
    for name, value in fields(parameters(entry)):
        assert all(one.get("format") != "date-time" for one in kinds(value)), name


@pytest.mark.parametrize("entry", ENTRIES)
def test_what_is_typed_has_an_example(entry: Entry) -> None:
    for name, value in parameters(entry)["properties"].items():
        typed = [one for one in kinds(value) if one.get("type") in ("string", "integer", "array")]
        if typed and "enum" not in value:
            assert value.get("examples"), name

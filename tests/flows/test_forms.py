"""The forms of Prefect's UI: every field described, bounded, and of a kind that can be typed."""

from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import pytest
from prefect.utilities.schema_tools.validation import ValidationError, validate
from pydantic import TypeAdapter

from blocks.mosaic_recipe import RecipeFields
from flows.backfill import backfill_scenes
from flows.forms.scene_selection import SceneSelection
from flows.server.deployment_table import TABLE, Entry
from flows.server.form_schema import schema_of
from flows.server.serving import flow_of

ENTRIES = [pytest.param(entry, id=entry.entrypoint) for entry in TABLE]


def parameters(entry: Entry) -> dict[str, Any]:
    """The schema as the server has it."""
    return {"definitions": {}} | schema_of(flow_of(entry)).model_dump(exclude_unset=True)


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
def test_a_group_is_called_as_people_call_it(entry: Entry) -> None:
    for name, model in parameters(entry)["definitions"].items():
        assert model["title"] != name


SCENES = {"scenes": ["/a.tif"]}
PLACE = {"to": "/r"}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"recipe": {"window": 3}}, "'recipe.window'. Failure reason: 3 is less than"),
        ({"recipe": {"compress": "rar"}}, "'recipe.compress'. Failure reason: 'rar' is not one of"),
        ({"recipe": {"colour": 1}}, "'recipe'. Failure reason: Additional properties"),
        ({"scenes": {"scenes": ["https://h/a?s=1"]}}, "'scenes.scenes[0]'. Failure reason: "),
        ({"scenes": {"stac": "https://h/?s=1"}}, "leave user, password and query out"),
        ({"scenes": {"prefix": "s3://me:secret@b/"}}, "leave user, password and query out"),
        ({"to": "az://c/x?sig=1"}, "'to'. Failure reason: "),
        ({"manifest": "postgresql://me:secret@h/x"}, "save it in a Secret block"),
        ({"manifest": "postgresql://me@h/x?sslmode=require&password=x"}, "in a Secret block"),
    ],
)
def test_the_server_names_the_field(given: dict[str, Any], said: str) -> None:
    """As Prefect's server checks what a form sends, and so does the flow."""
    (entry,) = [one for one in TABLE if "backfill" in one.entrypoint]
    with pytest.raises(ValidationError) as caught:
        validate({"scenes": SCENES, **PLACE, **given}, parameters(entry), raise_on_error=True)
    assert said in str(caught.value)
    state = backfill_scenes.fn(**{"scenes": SCENES, **PLACE, **given})
    assert state.name == "BadInput"
    assert "secret@" not in str(state.message)


@pytest.mark.parametrize(
    "given",
    [
        {"recipe": {}},
        {"recipe": {"window": None, "level": 6}},
        {"scenes": {"scenes": ["s3://b/a?b@c.tif", "https://h/a@b.tif", "/a?b@c"]}},
        {"to": None, "store": "s", "manifest": None, "scenes": {"prefix": "/a", "stac": None}},
        {"manifest": "postgresql+psycopg://me@h/x?sslmode=require"},
        {"manifest": "sqlite:////data/m.db?timeout=60"},
    ],
)
def test_the_server_takes_what_fits(given: dict[str, Any]) -> None:
    (entry,) = [one for one in TABLE if "backfill" in one.entrypoint]
    validate({"scenes": SCENES, **PLACE, **given}, parameters(entry), raise_on_error=True)


@pytest.mark.parametrize("entry", ENTRIES)
def test_no_other_parameter_is_taken(entry: Entry) -> None:
    schema = parameters(entry)
    found = validate({"nonsense": 99}, schema | {"required": []})
    assert any("('nonsense' was unexpected)" in one.message for one in found)
    assert not validate(dict(entry.parameters), schema, ignore_required=True)
    if entry.timetables:
        validate(dict(entry.parameters), schema, raise_on_error=True)


@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize(
    ("given", "place"),
    [
        ({}, "$"),
        ({"store": None}, "$"),
        ({"to": None}, "$.to"),
        ({"to": "/r", "store": "s"}, "$.to"),
        ({"to": "pout"}, "$.to"),
        ({"to": "./r"}, "$.to"),
    ],
)
def test_a_place_is_a_whole_root_or_a_store(
    entry: Entry, given: dict[str, Any], place: str
) -> None:
    schema = parameters(entry) | {"required": []}
    assert [one.json_path for one in validate(given, schema)] == [place]
    for fits in ({"store": "s"}, {"to": "/r"}, {"to": "s3://b/p", "store": None}):
        assert validate(fits, schema) == []


@pytest.mark.parametrize(
    ("given", "wrong"),
    [
        ({"recipe": {"level": 12}}, None),
        ({"recipe": {"level": 13}}, "$.recipe.level"),
        ({"recipe": {"compress": "zstd", "level": 22}}, None),
        ({"recipe": {"compress": "zstd", "level": 23}}, "$.recipe.level"),
        ({"recipe": {"compress": "webp", "level": 100, "effort": "balanced"}}, None),
        ({"recipe": {"compress": "lzw", "level": 1}}, "$.recipe.level"),
        ({"recipe": {"compress": "lzw", "level": None}}, None),
        ({"recipe": {"level": None, "effort": "small"}}, None),
        ({"recipe": {"level": 6, "effort": "small"}}, "$.recipe.effort"),
        ({"recipe": {"compress": "jpeg", "effort": "fast"}}, "$.recipe.effort"),
        ({"scenes": {}}, "$.scenes"),
        ({"scenes": {"scenes": [], "prefix": None}}, "$.scenes.scenes"),
        ({"scenes": {"scenes": ["/a"], "prefix": "/b"}}, "$.scenes.scenes"),
        ({"scenes": {"scenes": ["/a"], "stac": "/b.json"}}, "$.scenes.scenes"),
        ({"scenes": {"prefix": "/b", "stac": "/b.json"}}, "$.scenes.stac"),
        ({"scenes": {"scenes": [], "stac": "/b.json"}}, None),
    ],
)
def test_what_fields_are_together(given: dict[str, Any], wrong: str | None) -> None:
    """The schema refuses what the flow does, and no more."""
    (entry,) = [one for one in TABLE if "backfill" in one.entrypoint]
    found = validate({"scenes": SCENES, **PLACE, **given}, parameters(entry))
    assert [one.json_path for one in found] == ([] if wrong is None else [wrong])
    named = TypeAdapter(RecipeFields if "recipe" in given else SceneSelection)
    with nullcontext() if wrong is None else pytest.raises(ValueError):  # noqa: PT011
        named.validate_python(next(iter(given.values())))


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

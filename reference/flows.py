"""Every deployed flow with its parameters, as Prefect itself describes them."""

from collections.abc import Iterator
from importlib import import_module
from typing import Any, Final

from prefect import Flow

from flows.server.deployment_table import NAME, TABLE, Entry
from reference.markdown import code
from reference.schema import Schema, definitions, fields

HEAD = """# Flows

Made from the code: the same names and texts stand in the forms of Prefect's pages. Every flow is
deployed under the name `default`; `scenemosaic serve` serves them all. What a type names, such as
`SceneSelection`, has a table of its own at the end.
"""

_COLLISIONS: Final = {
    "ENQUEUE": "the next one waits",
    "CANCEL_NEW": "a run that meets another one ends at once",
}


def page() -> str:
    """The page in Markdown."""
    return "\n".join([HEAD, *_all()])


def _all() -> Iterator[str]:
    nested: dict[str, Schema] = {}
    for entry in TABLE:
        flow = _flow(entry)
        schema = flow.parameters.model_dump()
        yield from _head(flow, entry)
        yield from fields(schema)
        nested.update(definitions(schema))
    for name in sorted(nested):
        yield f"## {name}"
        yield ""
        yield str(nested[name].get("description", ""))
        yield from fields(nested[name])


def _flow(entry: Entry) -> Flow[..., Any]:
    path, _, name = entry.entrypoint.partition(":")
    flow = getattr(import_module(path.removesuffix(".py").replace("/", ".")), name)
    if not isinstance(flow, Flow):
        raise TypeError(f"{entry.entrypoint} is no flow: mend flows/server/deployment_table.py")
    return flow


def _head(flow: Flow[..., Any], entry: Entry) -> Iterator[str]:
    yield f"## {flow.name}"
    yield ""
    yield f"{entry.description} Deployed as `{flow.name}/{NAME}`."
    yield f"Runs at once: {entry.limit}; {_COLLISIONS[entry.collision]}."
    for one in entry.timetables:
        when = f"cron {code(one.cron)}" if one.cron else f"every {one.every}"
        yield f"Schedule `{one.slug}`, paused until somebody turns it on: {when}, {one.time_zone}."
    yield ""

"""Every error of the product with its kind and exit code."""

from collections.abc import Iterator
from importlib import import_module
from pkgutil import walk_packages

import flows
import scenemosaic
from flows.reports.states import state_name
from reference import scanned
from reference.markdown import code, prose, table
from scenemosaic.errors import SceneMosaicError

HEAD = """# Errors

Made from the code. Errors are grouped by what you do about them; a lost race is none of them, but
an outcome ([why a 412 is success](../why-412.md)). `kind` is stable and may be matched on: it
stands in the `error` of `--json`. *state* is the name of a flow run's final state. *again* says
whether the engine itself tries it again before it raises it.

| exit code | what to do |
| --- | --- |
| 0 | nothing: done, also where all of it was there already |
| 2 | mend what is named; nothing was written |
| 3 | run again, or `repair`: good windows stay |
| 4 | look before you act: a person decides |
| 5 | run again once store, network or permission is well |
"""


def page() -> str:
    """The page in Markdown."""
    heads = ("kind", "error", "exit code", "state", "again", "what it means")
    return "\n".join([HEAD, *table(heads, map(_row, errors()))])


def errors() -> list[type[SceneMosaicError]]:
    """All there are, by exit code; subclasses behind what they are of."""
    for package in (scenemosaic, flows):
        for found in walk_packages(package.__path__, f"{package.__name__}."):
            _import(found.name)
    return sorted(_below(SceneMosaicError), key=lambda kind: kind.exit_code)


def _import(module: str) -> None:
    try:
        import_module(module)
    except ModuleNotFoundError as error:
        # What needs an extra that is not installed here declares no error.
        if error.name is None or error.name.partition(".")[0] in scanned.PRODUCT:
            raise


def _below(kind: type[SceneMosaicError]) -> Iterator[type[SceneMosaicError]]:
    for one in kind.__subclasses__():
        yield one
        yield from _below(one)


def _row(kind: type[SceneMosaicError]) -> tuple[str, ...]:
    return (
        code(kind.kind),
        kind.__name__,
        str(kind.exit_code),
        code(state_name(kind.__new__(kind))),
        "yes" if kind.retryable else "",
        prose(kind.__doc__ or ""),
    )

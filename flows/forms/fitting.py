"""Whether what is given fits a flow's parameters, and what is wrong where it does not. Pure."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from pydantic import TypeAdapter, ValidationError

from flows.reports.form_words import as_option
from scenemosaic.errors import InputError

Kinds: TypeAlias = Mapping[str, TypeAdapter[Any]]


def kinds_of(function: Callable[..., Any]) -> Kinds:
    """Of each parameter, by its annotation."""
    parameters = inspect.signature(function).parameters
    return {name: TypeAdapter(one.annotation) for name, one in parameters.items()}


def check_given(kinds: Kinds, given: Mapping[str, Any]) -> None:
    """What a command is about to run a flow with, checked before there is a run.

    Raises InputError, in the command's own words, where the flow would refuse it.
    """
    try:
        fitted(kinds, given)
    except Unfit as error:
        raise InputError(error.said(as_option)) from None


class Unfit(ValueError):
    """What is wrong with the parameters: where, and why."""

    def __init__(self, wrong: list[tuple[str, str]]) -> None:
        self.wrong = wrong
        super().__init__(self.said(str))

    def said(self, words: Callable[[str], str]) -> str:
        """In one line; ``words`` says what a place is called."""
        return "; ".join(f"{words(place)}: {why}" for place, why in self.wrong)


def fitted(kinds: Kinds, given: Mapping[str, Any]) -> dict[str, Any]:
    """``given`` made what ``kinds`` say. Raises Unfit."""
    fitting: dict[str, Any] = {}
    wrong: list[tuple[str, str]] = []
    for name, value in given.items():
        try:
            fitting[name] = kinds[name].validate_python(value)
        except ValidationError as error:
            wrong += _reasons(name, error)
    if wrong:
        raise Unfit(wrong)
    return fitting


def _reasons(name: str, error: ValidationError) -> list[tuple[str, str]]:
    """Where and why, without what was given: it may be a secret."""
    found = []
    for one in error.errors(include_input=False, include_url=False):
        # An alternative's own name ("int", "list[str]") says nothing to a person.
        place = ".".join(str(part) for part in (name, *one["loc"]) if _is_place(part))
        found.append((place, one["msg"].removeprefix("Value error, ")))
    return found


def _is_place(part: int | str) -> bool:
    return isinstance(part, int) or part.isidentifier()

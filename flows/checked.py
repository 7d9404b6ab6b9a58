"""A flow's parameters, checked by the flow itself: what does not fit ends as ``BadInput``.

Prefect's own check would end the run as ``Failed``, and log every parameter as it was given.

No postponed annotations in here: they are read as they stand.
"""

import functools
import inspect
from collections.abc import Callable
from typing import Any, ParamSpec, cast

from prefect.client.schemas.objects import State
from pydantic import TypeAdapter, ValidationError

from flows.outliving import outlive_readers, prepare_own_process
from flows.states import error_state
from flows.tagged import untagged
from scenemosaic.errors import InputError

P = ParamSpec("P")


def checked(function: Callable[P, State[Any]]) -> Callable[P, State[Any]]:
    """``function`` with its arguments made what its annotations say, or not called at all."""
    signature = inspect.signature(function)
    call = cast(Callable[..., State[Any]], function)
    kinds = {name: TypeAdapter(one.annotation) for name, one in signature.parameters.items()}
    prepare_own_process()

    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> State[Any]:
        outlive_readers()
        try:
            given = _cast(kinds, signature.bind(*args, **kwargs).arguments)
        except (TypeError, _Unfit) as error:  # one missing or unknown, or of another kind
            return _refused(str(error))
        with untagged():
            return call(**given)

    return run


class _Unfit(ValueError):
    """What is wrong with the parameters, in one line."""


def _cast(kinds: dict[str, TypeAdapter[Any]], given: dict[str, Any]) -> dict[str, Any]:
    fitting: dict[str, Any] = {}
    wrong: list[str] = []
    for name, value in given.items():
        try:
            fitting[name] = kinds[name].validate_python(value)
        except ValidationError as error:
            wrong += _texts(name, error)
    if wrong:
        raise _Unfit("; ".join(wrong))
    return fitting


def _texts(name: str, error: ValidationError) -> list[str]:
    """Where and why, without what was given: it may be a secret."""
    found = []
    for one in error.errors(include_input=False, include_url=False):
        # An alternative's own name ("int", "list[str]") says nothing to a person.
        place = ".".join(str(part) for part in (name, *one["loc"]) if _is_place(part))
        found.append(f"{place}: {one['msg'].removeprefix('Value error, ')}")
    return found


def _is_place(part: int | str) -> bool:
    return isinstance(part, int) or part.isidentifier()


def _refused(text: str) -> State[Any]:
    error = InputError(text)
    return error_state(error, error)

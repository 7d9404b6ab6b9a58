"""A flow's parameters, checked by the flow itself: what does not fit ends as ``BadInput``.

Prefect's own check would end the run as ``Failed``, and log every parameter as it was given.

No postponed annotations in here: they are read as they stand.
"""

import functools
import inspect
from collections.abc import Callable
from typing import Any, ParamSpec, cast

from prefect.client.schemas.objects import State

from flows.forms.fitting import Unfit, fitted, kinds_of
from flows.reports.states import error_state
from flows.server.outliving import outlive_readers, prepare_own_process
from flows.server.tagged import untagged
from scenemosaic.errors import InputError

P = ParamSpec("P")


def checked(function: Callable[P, State[Any]]) -> Callable[P, State[Any]]:
    """``function`` with its arguments made what its annotations say, or not called at all."""
    signature = inspect.signature(function)
    call = cast(Callable[..., State[Any]], function)
    kinds = kinds_of(function)
    prepare_own_process()

    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> State[Any]:
        outlive_readers()
        try:
            given = fitted(kinds, signature.bind(*args, **kwargs).arguments)
        except (TypeError, Unfit) as error:  # one missing or unknown, or of another kind
            return _refused(str(error))
        with untagged():
            return call(**given)

    return run


def _refused(text: str) -> State[Any]:
    error = InputError(text)
    return error_state(error, error)

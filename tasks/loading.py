"""Saved Prefect blocks by their names, in whatever thread."""

from typing import Any, TypeVar

from prefect.blocks.core import Block

from scenemosaic.errors import InputError

B = TypeVar("B", bound=Block)


def load(kind: type[B], name: str) -> B:
    """The saved block. Raises InputError where Prefect holds none of that name and kind."""
    try:
        found: Any = kind.load(name, _sync=True)  # type: ignore[call-arg]
    except ValueError as error:
        slug, made = kind.get_block_type_slug(), f"{kind.__name__}(…).save({name!r})"
        raise InputError(
            f"{slug}/{name}: {error}: save one by `from blocks import {kind.__name__}; {made}`, or "
            "on the page Blocks of the server that PREFECT_API_URL names"
        ) from error
    return found  # type: ignore[no-any-return]

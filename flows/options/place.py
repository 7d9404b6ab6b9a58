"""Where a command works: the root, its manifest, a block that holds both, a job under the root."""

import functools
import os
from collections.abc import Callable, Sequence
from inspect import cleandoc
from pathlib import Path
from typing import Any, Final

import click

from scenemosaic.keys import LEAST_DIGITS

TO = click.option("--to", metavar="ROOT", help="A folder or s3://bucket/prefix.")
BLOCK = click.option(
    "--block", metavar="NAME", help="A Prefect Scene Store block, instead of a root."
)
JOB_SAID: Final = f"ID, or at least its first {LEAST_DIGITS} digits"
_JOB = click.argument("job_id", metavar="JOB")
_ROOT = click.argument("to", metavar="ROOT", required=False)
MANIFEST = click.option(
    "--manifest", metavar="URL", help="sqlite:///…, postgresql+psycopg://…, dynamodb://table."
)

# Every command takes it, so that a script may give it to each.
_IDLE_MANIFEST = click.option(
    "--manifest",
    metavar="URL",
    expose_value=False,
    help="As other commands take it: no manifest is asked.",
)


def place_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --to, --manifest and --block; the command is given the ``place`` that they say."""
    return TO(MANIFEST(BLOCK(_placed(command))))


def job_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add JOB and these; the command is given the whole ``job_id``, and its ``place``."""
    of_job = whole_job("job_id")(command)
    of_job.__doc__ = f"{cleandoc(command.__doc__ or '')}\n\nJOB is the job's {JOB_SAID}."
    return _JOB(place_options(of_job))


def whole_job(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make the parameter ``name`` the whole ID of the job under the ``place``, where it is given.

    Every parameter that names a job goes through here: people type the first digits.
    """

    def wrapped(command: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(command)
        def of_job(*args: Any, place: Any, **given: Any) -> Any:
            if given[name] is not None:
                from scenemosaic.plans.whole_id import whole_job_id

                given[name] = whole_job_id(given[name], place.store)
            return command(*args, place=place, **given)

        return of_job

    return wrapped


def root_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The same with the root as an argument."""
    return _ROOT(MANIFEST(BLOCK(_placed(command))))


def store_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --to, --block and an idle --manifest; the command is given the ``store`` they say."""

    @functools.wraps(command)
    def stored(*args: Any, to: str | None, block: str | None, **given: Any) -> Any:
        return command(*args, store=_said(to, None, block)[0], **given)

    return TO(_IDLE_MANIFEST(BLOCK(stored)))


def collected_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The root as an argument, --manifest and --block; gives the command ``store``, ``manifest``.

    The manifest is None where none is given, also for a root that has no default one.
    """

    @functools.wraps(command)
    def stored(
        *args: Any, to: str | None, manifest: str | None, block: str | None, **given: Any
    ) -> Any:
        store, rows = _said(to, manifest, block)
        return command(*args, store=store, manifest=rows, **given)

    return _ROOT(MANIFEST(BLOCK(stored)))


def place_said(to: str | None, manifest: str | None, block: str | None) -> Any:
    """The place that a command line says. Raises UsageError where it says none, or two."""
    if block is None or to is not None:
        from scenemosaic.places import place_at

        return place_at(_root(to, block), manifest)
    from flows.server.api import ensure_api
    from flows.terminal.console import complain

    ensure_api(complain)
    from flows.forms.places import place_of

    return place_of(None, manifest, block)


def _said(to: str | None, manifest: str | None, block: str | None) -> tuple[Any, Any]:
    """The store that a command line says, and the manifest, None where it says none."""
    if block is not None:
        place = place_said(to, manifest, block)
        return place.store, place.manifest
    from scenemosaic.places import StorePlace, manifest_at
    from scenemosaic.roots import parse_root

    store = StorePlace(parse_root(_root(to, block)).uri)
    return store, manifest_at(manifest) if manifest else None


def _placed(command: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(command)
    def placed(
        *args: Any, to: str | None, manifest: str | None, block: str | None, **given: Any
    ) -> Any:
        return command(*args, place=place_said(to, manifest, block), **given)

    return placed


def _root(to: str | None, block: str | None) -> str:
    if to is not None and block is not None:
        raise click.UsageError("give a root or --block NAME, and not both")
    if to is None:
        raise click.UsageError(_no_root(click.get_current_context()))
    return to


def _no_root(ctx: click.Context) -> str:
    """What is missing, as this command takes it."""
    if any(
        param.name == "to" and param.param_type_name == "argument" for param in ctx.command.params
    ):
        return "no root: add ROOT or --block NAME"
    sources: Sequence[str] = ctx.params.get("sources") or ctx.params.get("scenes") or ()
    last = Path(sources[-1]) if len(sources) > 1 else None
    if last is not None and not last.suffix and not os.path.isfile(last):
        return f"no root: if {sources[-1]} is meant as one, write --to {sources[-1]}"
    return "no root: add --to FOLDER or --block NAME"

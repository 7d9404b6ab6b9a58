"""How a command does its work, and how it answers: engine, threads, strictness, log, JSON."""

import functools
from collections.abc import Callable, Sequence
from typing import Any, Final

import click

JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
VERBOSE = click.option("-v", "--verbose", is_flag=True, help="Log what is routine, too.")
POSITIVE = click.IntRange(min=1)
SERVER_PORT: Final = 4200  # as Prefect has it
STRICT = click.option(
    "--strict-history",
    is_flag=True,
    help="Refuse to write where something once stood and was deleted.",
)


def number_or_auto(ctx: click.Context, param: click.Parameter, value: str) -> int | str:
    """An option's callback: a number of at least 1, or the word."""
    if value == "auto":
        return value
    if not (value.isdecimal() and int(value) > 0):
        raise click.BadParameter(f"{value!r} is neither auto nor a number of at least 1")
    return int(value)


_ENGINE_CHOICE: Final = (
    click.option(
        "--engine",
        type=click.Choice(["threads", "dask", "ray"]),
        default="threads",
        show_default=True,
        help="What computes windows; the last two are extras of their own.",
    ),
    click.option(
        "--engine-address",
        metavar="URL",
        help="A cluster that runs already: tcp://host:8786.  [default: one of its own]",
    ),
)

_ENGINE: Final = (
    *_ENGINE_CHOICE,
    click.option(
        "--workers",
        type=POSITIVE,
        help="Threads at once, or processes.  [default: one a core, at most 8; 2 processes]",
    ),
    click.option(
        "--windows-per-task",
        callback=number_or_auto,
        metavar="N|auto",
        default="auto",
        show_default=True,
        help="At most 200.",
    ),
)


def engine_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add how windows are shared out; the command is given the ``limits`` that they say."""
    return with_options(_ENGINE, _limited(command))


def _limited(command: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(command)
    def limited(
        *args: Any,
        engine: Any,
        engine_address: str | None,
        workers: int | None,
        windows_per_task: int | str,
        strict_history: bool = False,
        **given: Any,
    ) -> Any:
        from flows.engines.engine import Engine
        from flows.engines.limits import limits_of

        size = None if isinstance(windows_per_task, str) else windows_per_task
        limits = limits_of(workers, size, strict_history, Engine(engine, engine_address))
        return command(*args, limits=limits, **given)

    return limited


def engine_choice(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add what computes windows; the command is given the ``engine`` that they say."""

    @functools.wraps(command)
    def chosen(*args: Any, engine: Any, engine_address: str | None, **given: Any) -> Any:
        from flows.engines.engine import Engine

        return command(*args, engine=Engine(engine, engine_address), **given)

    return with_options(_ENGINE_CHOICE, chosen)


def with_options(options: Sequence[Any], command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options to a command, in the order in which its help shows them."""
    for option in reversed(options):
        command = option(command)
    return command


def console_for(as_json: bool, verbose: bool) -> Any:
    """Logging to stderr, and the console that a command answers to."""
    from flows.terminal.console import Console, log_to_stderr

    log_to_stderr(verbose)
    return Console(as_json)

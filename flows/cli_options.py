"""The options of the commands."""

from collections.abc import Callable, Sequence
from typing import Any, Final

import click


def _number_or_auto(ctx: click.Context, param: click.Parameter, value: str) -> int | str:
    if value == "auto":
        return value
    if not (value.isdecimal() and int(value) > 0):
        raise click.BadParameter(f"{value!r} is neither auto nor a number of at least 1")
    return int(value)


TO = click.option("--to", required=True, metavar="ROOT", help="A folder or s3://bucket/prefix.")
MANIFEST = click.option(
    "--manifest", metavar="URL", help="sqlite:///…, postgresql+psycopg://…, dynamodb://table."
)
JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
VERBOSE = click.option("-v", "--verbose", is_flag=True, help="Log what is routine, too.")
POSITIVE = click.IntRange(min=1)
STRICT = click.option(
    "--strict-history",
    is_flag=True,
    help="Refuse to write where something once stood and was deleted.",
)

_RECIPE: Final = (
    click.option(
        "--window",
        callback=_number_or_auto,
        metavar="N|auto",
        default="auto",
        show_default=True,
        help="Pixels a side.",
    ),
    click.option(
        "--block-size",
        type=POSITIVE,
        help="Pixels a side of a block.  [default: 512, or what suits a narrow image]",
    ),
    click.option(
        "--compress",
        default="deflate",
        show_default=True,
        metavar="CODEC",
        help="deflate, zstd, lzw, lerc, jpeg, webp or none.",
    ),
    click.option("--level", type=int, help="The codec's level."),
    click.option(
        "--resampling", metavar="KERNEL", help="For overviews: nearest, average, mode or rms."
    ),
    click.option("--collection", metavar="ID", help="The STAC collection of the item."),
)

_PROCESS: Final = (
    click.argument("sources", nargs=-1, required=True, metavar="SOURCE..."),
    TO,
    MANIFEST,
    *_RECIPE,
    click.option(
        "--datetime", metavar="TIME", help="When the scene was taken: 2024-05-01T10:20:30Z."
    ),
    click.option("--engine", type=click.Choice(["threads"]), default="threads", show_default=True),
    click.option(
        "--workers", type=POSITIVE, help="Threads at once.  [default: one a core, at most 8]"
    ),
    click.option(
        "--windows-per-task",
        callback=_number_or_auto,
        metavar="N|auto",
        default="auto",
        show_default=True,
        help="At most 200.",
    ),
    STRICT,
    click.option("--dry-run", is_flag=True, help="Print the plan and write nothing."),
)


def process_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the source, the place and everything that decides the mosaic."""
    return _with(_PROCESS, command)


def recipe_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add what decides any scene's mosaic, beside the scene itself."""
    return _with(_RECIPE, command)


def _with(options: Sequence[Any], command: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(options):
        command = option(command)
    return command


def console_for(as_json: bool, verbose: bool) -> Any:
    """Logging to stderr, and the console that a command answers to."""
    from flows.console import Console, log_to_stderr

    log_to_stderr(verbose)
    return Console(as_json)

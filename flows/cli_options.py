"""The options of the commands."""

import functools
from collections.abc import Callable, Sequence
from typing import Any, Final

import click


def _number_or_auto(ctx: click.Context, param: click.Parameter, value: str) -> int | str:
    if value == "auto":
        return value
    if not (value.isdecimal() and int(value) > 0):
        raise click.BadParameter(f"{value!r} is neither auto nor a number of at least 1")
    return int(value)


def _lower(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    return value and value.lower()


TO = click.option("--to", metavar="ROOT", help="A folder or s3://bucket/prefix.")
BLOCK = click.option(
    "--block", metavar="NAME", help="A Prefect Scene Store block, instead of a root."
)
_ROOT = click.argument("to", metavar="ROOT", required=False)
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


def place_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --to, --manifest and --block; the command is given the ``place`` that they say."""
    return TO(MANIFEST(BLOCK(_placed(command))))


def root_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The same with the root as an argument."""
    return _ROOT(MANIFEST(BLOCK(_placed(command))))


def store_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --to and --block; the command is given the ``store`` that they say, no manifest."""

    @functools.wraps(command)
    def stored(*args: Any, to: str | None, block: str | None, **given: Any) -> Any:
        if block is not None:
            return command(*args, store=place_said(to, None, block).store, **given)
        from scenemosaic.places import StorePlace
        from scenemosaic.roots import parse_root

        return command(*args, store=StorePlace(parse_root(_root(to, block)).uri), **given)

    return TO(BLOCK(stored))


def place_said(to: str | None, manifest: str | None, block: str | None) -> Any:
    """The place that a command line says. Raises UsageError where it says none, or two."""
    if block is None or to is not None:
        from scenemosaic.places import place_at

        return place_at(_root(to, block), manifest)
    from flows.console import complain
    from flows.server import ensure_api

    ensure_api(complain)
    from flows.places import place_of

    return place_of(None, manifest, block)


def _placed(command: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(command)
    def placed(
        *args: Any, to: str | None, manifest: str | None, block: str | None, **given: Any
    ) -> Any:
        return command(*args, place=place_said(to, manifest, block), **given)

    return placed


def _root(to: str | None, block: str | None) -> str:
    if to is None or block is not None:
        raise click.UsageError("give a root (ROOT, --to ROOT) or --block NAME, and not both")
    return to


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
        callback=_lower,
        default="deflate",
        show_default=True,
        metavar="CODEC",
        help="deflate, zstd, lzw, lerc, jpeg, webp or none.",
    ),
    click.option("--level", type=int, help="The codec's level, instead of an effort."),
    click.option(
        "--effort",
        callback=_lower,
        default="balanced",
        show_default=True,
        metavar="HOW",
        help="For deflate and zstd: fast, balanced (by what the pixels are like) or small.",
    ),
    click.option(
        "--resampling",
        callback=_lower,
        metavar="KERNEL",
        help="For overviews: nearest, average, mode, rms, bilinear, cubic, cubic_spline, "
        "lanczos or gauss.",
    ),
    click.option(
        "--categorical",
        is_flag=True,
        help="The values are classes: overviews take mode, or nearest.",
    ),
    click.option(
        "--whole-bits",
        is_flag=True,
        help="Write samples of fewer bits than their type (NBITS) with all of them.",
    ),
    click.option("--collection", metavar="ID", help="The STAC collection of the item."),
)

_PROCESS: Final = (
    click.argument("sources", nargs=-1, required=True, metavar="SOURCE..."),
    place_options,
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

"""The options of the commands."""

import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import click


def _number_or_auto(ctx: click.Context, param: click.Parameter, value: str) -> int | str:
    if value == "auto":
        return value
    if not (value.isdecimal() and int(value) > 0):
        raise click.BadParameter(f"{value!r} is neither auto nor a number of at least 1")
    return int(value)


def _numbers(
    ctx: click.Context, param: click.Parameter, value: str | None
) -> tuple[int, ...] | None:
    if value is None:
        return None
    parts = [part.strip() for part in value.split(",")]
    if not all(part.isdecimal() and int(part) > 0 for part in parts):
        raise click.BadParameter(f"{value!r} is no list of bands from 1, such as 4,3,2")
    return tuple(map(int, parts))


def _measures(
    ctx: click.Context, param: click.Parameter, value: str | None
) -> tuple[float, ...] | None:
    if value is None:
        return None
    try:
        return tuple(float(part) for part in value.replace(",", " ").split())
    except ValueError:
        raise click.BadParameter(f"{value!r} is no list of numbers, such as 10,20") from None


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
    if last is not None and not last.suffix and not last.is_file():
        return f"no root: if {sources[-1]} is meant as one, write --to {sources[-1]}"
    return "no root: add --to FOLDER or --block NAME"


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
    click.option(
        "--bands",
        callback=_numbers,
        metavar="N,N,…",
        help="These bands of the source, in this order: 4,3,2.",
    ),
    click.option(
        "--expression",
        metavar="TEXT",
        help="Bands computed from the source's, separated by commas: (b4-b3)/(b4+b3).",
    ),
    click.option(
        "--unscale",
        is_flag=True,
        help="Take value x scale + offset, as the source says them, of each band.",
    ),
    click.option(
        "--dtype",
        callback=_lower,
        metavar="TYPE",
        help="The mosaic's: uint8, int16, float32 and so on. A value that does not fit is "
        "refused.  [default: float32 where bands are computed, else the source's]",
    ),
    click.option(
        "--nodata",
        type=float,
        metavar="NUMBER",
        help="The mosaic's.  [default: nan where bands are computed, else the source's]",
    ),
    click.option("--crs", metavar="CRS", help="The mosaic's.  [default: the first source's]"),
    click.option(
        "--resolution",
        callback=_measures,
        metavar="X[,Y]",
        help="The pixel in units of the CRS.  [default: the first source's]",
    ),
    click.option(
        "--bounds",
        callback=_measures,
        metavar="W,S,E,N",
        help="In units of the CRS, moved outwards to whole pixels.  [default: around all sources]",
    ),
    click.option(
        "--method",
        callback=_lower,
        metavar="HOW",
        help="Where sources overlap: first, last, min, max, mean, median or count.  "
        "[default: first]",
    ),
    click.option(
        "--warp-resampling",
        callback=_lower,
        metavar="KERNEL",
        help="For sources off the mosaic's grid: nearest, bilinear, cubic, cubic_spline, lanczos, "
        "average, mode or rms.  [default: bilinear, or nearest for classes and complex numbers]",
    ),
    click.option("--collection", metavar="ID", help="The STAC collection of the item."),
)

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
        callback=_number_or_auto,
        metavar="N|auto",
        default="auto",
        show_default=True,
        help="At most 200.",
    ),
)

_PROCESS: Final = (
    click.argument("sources", nargs=-1, required=True, metavar="SOURCE..."),
    place_options,
    *_RECIPE,
    click.option(
        "--datetime", metavar="TIME", help="When the scene was taken: 2024-05-01T10:20:30Z."
    ),
    click.option("--asset", metavar="NAME", help="Of a STAC item: the asset that is the scene."),
    click.option("--title", metavar="TEXT", help="What people call the mosaic."),
    click.option(
        "--reuse",
        metavar="JOB",
        help="An earlier job under the same root: its grid and options hold, and its tiles are "
        "taken over where their sources are the same.",
    ),
    STRICT,
    click.option("--dry-run", is_flag=True, help="Print the plan and write nothing."),
)


def process_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the source, the place and everything that decides the mosaic."""
    return _with(_PROCESS, engine_options(command))


def engine_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add how windows are shared out; the command is given the ``limits`` that they say."""
    return _with(_ENGINE, _limited(command))


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
        from flows.engines import Engine
        from flows.limits import limits_of

        size = None if isinstance(windows_per_task, str) else windows_per_task
        limits = limits_of(workers, size, strict_history, Engine(engine, engine_address))
        return command(*args, limits=limits, **given)

    return limited


def engine_choice(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add what computes windows; the command is given the ``engine`` that they say."""

    @functools.wraps(command)
    def chosen(*args: Any, engine: Any, engine_address: str | None, **given: Any) -> Any:
        from flows.engines import Engine

        return command(*args, engine=Engine(engine, engine_address), **given)

    return _with(_ENGINE_CHOICE, chosen)


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

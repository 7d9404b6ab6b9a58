"""The console script ``scenemosaic``. Heavy imports wait until a command needs them."""

import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Any

import click

from flows.cli_options import JSON, MANIFEST, POSITIVE, TO, VERBOSE, process_options
from scenemosaic import __version__

INTERRUPTED = 130
# Each worker thread encodes on one core; libraries that start threads of their own only disturb.
_ONE_THREAD = ("GDAL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="scenemosaic")
def cli() -> None:
    """Turn satellite scenes into mosaic COGs, with every output written at most once."""


@cli.command()
@process_options
@VERBOSE
@JSON
def process(**given: Any) -> int:
    """Make the mosaic of one scene. Safe to repeat, and to run many times at once."""
    from flows import cli_process
    from flows.limits import Limits, default_workers
    from scenemosaic.plan import PlanOptions

    names = ("window", "block_size", "compress", "level", "resampling", "datetime", "collection")
    options = PlanOptions(**{name: given[name] for name in names})
    per_task = given["windows_per_task"]
    limits = Limits(given["workers"] or default_workers(), None if per_task == "auto" else per_task)
    request = cli_process.Request(given["sources"], given["to"], given["manifest"], options, limits)
    run = cli_process.dry_run if given["dry_run"] else cli_process.process
    return run(request, _console(given["as_json"], given["verbose"]))


@cli.command(short_help="Check a job for gaps and assemble its mosaic.")
@click.argument("job_id", metavar="JOB")
@TO
@MANIFEST
@VERBOSE
@JSON
def assemble(job_id: str, to: str, manifest: str | None, verbose: bool, as_json: bool) -> int:
    """Check a job for gaps and assemble its mosaic, without touching the windows."""
    from flows import cli_jobs

    return cli_jobs.assemble(job_id, to, manifest, _console(as_json, verbose))


@cli.command(short_help="Say how far a job is.")
@click.argument("job_id", metavar="JOB")
@TO
@MANIFEST
@VERBOSE
@JSON
def status(job_id: str, to: str, manifest: str | None, verbose: bool, as_json: bool) -> int:
    """Say how far a job is: windows, rows, what is missing, what is published."""
    from flows import cli_jobs

    return cli_jobs.status(job_id, to, manifest, _console(as_json, verbose))


@cli.command(short_help="Make the manifest's table or schema.")
@click.argument("to", metavar="ROOT")
@MANIFEST
@VERBOSE
@JSON
def init(to: str, manifest: str | None, verbose: bool, as_json: bool) -> int:
    """Make the manifest's table or schema, and print the lifecycle rule that the root needs."""
    from flows import cli_jobs

    return cli_jobs.initialise(to, manifest, _console(as_json, verbose))


@cli.command(short_help="List, and with --abort end, abandoned uploads.")
@click.argument("to", metavar="ROOT")
@MANIFEST
@click.option("--older-than", default="7d", show_default=True, metavar="AGE", help="7d, 12h, 30m.")
@click.option("--abort", is_flag=True, help="End them.")
@VERBOSE
@JSON
def gc(
    to: str, manifest: str | None, older_than: str, abort: bool, verbose: bool, as_json: bool
) -> int:
    """List, and with --abort end, uploads under ROOT that a killed run left open.

    Under a local ROOT these are hidden files. All uploads under ROOT count, whoever began
    them, but for those that a run holds in a living claim.
    """
    from flows import cli_gc

    return cli_gc.collect(to, manifest, older_than, abort, _console(as_json, verbose))


@cli.command(short_help="Prove that store and manifest enforce preconditions.")
@click.argument("to", metavar="ROOT")
@MANIFEST
@click.option("--rounds", type=POSITIVE, default=40, show_default=True, help="Races a check.")
@click.option("--deadline", type=POSITIVE, default=600, show_default=True, metavar="SECONDS")
@VERBOSE
@JSON
def preflight(
    to: str, manifest: str | None, rounds: int, deadline: int, verbose: bool, as_json: bool
) -> int:
    """Prove, by racing writers, that store and manifest enforce preconditions.

    Refuses those that ignore one (exit 5), and says which. What it writes lies under a
    prefix of its own, and is taken away again by exact key and version.
    """
    from flows import cli_preflight

    console = _console(as_json, verbose)
    return cli_preflight.preflight(to, manifest, rounds, float(deadline), console)


@cli.command(short_help="Make a scene and its mosaic, on this machine alone.")
@click.option(
    "--to",
    type=click.Path(path_type=Path),
    default=Path("scenemosaic-demo"),
    show_default=True,
    metavar="FOLDER",
)
@click.option("--size", type=POSITIVE, default=4096, show_default=True, help="Pixels a side.")
@VERBOSE
@JSON
def demo(to: Path, size: int, verbose: bool, as_json: bool) -> int:
    """Make a scene and run it on local files and SQLite: no account, no server, no network."""
    from flows import cli_demo

    return cli_demo.demo(to, size, _console(as_json, verbose))


def _console(as_json: bool, verbose: bool) -> Any:
    from flows.console import Console, log_to_stderr

    log_to_stderr(verbose)
    return Console(as_json)


def run(arguments: Sequence[str]) -> int:
    """Run one command; its exit code. Every error of ours is one line on stderr."""
    from flows.console import Console
    from scenemosaic.errors import InputError, SceneMosaicError

    console = Console("--json" in arguments)
    try:
        code: object = cli.main(list(arguments), prog_name="scenemosaic", standalone_mode=False)
    except click.UsageError as error:
        path = error.ctx.command_path if error.ctx is not None else "scenemosaic"
        return console.fail(InputError(f"{error.format_message()} (see {path} --help)"))
    except SceneMosaicError as error:
        return console.fail(error)
    except (click.Abort, KeyboardInterrupt):
        return console.interrupted(INTERRUPTED)
    return code if isinstance(code, int) else 0


def main() -> None:
    """The entry point."""
    for name in _ONE_THREAD:
        os.environ.setdefault(name, "1")
    signal.signal(signal.SIGINT, _interrupt)
    sys.exit(run(sys.argv[1:]))


def _interrupt(number: int, frame: FrameType | None) -> None:
    """The first Ctrl-C ends the run once the windows in hand are committed, the second at once."""
    signal.signal(signal.SIGINT, lambda *_: os._exit(INTERRUPTED))
    raise KeyboardInterrupt


if __name__ == "__main__":
    main()

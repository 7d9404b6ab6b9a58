"""The console script ``scenemosaic``. Heavy imports wait until a command needs them."""

import gc
import os
import signal
import sys
from collections.abc import Sequence
from types import FrameType

import click

from flows.commands import COMMANDS
from scenemosaic import __version__

INTERRUPTED = 130
# Each worker thread encodes on one core; libraries that start threads of their own only disturb.
_ONE_THREAD = ("GDAL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")

# Imports make 250,000 objects that stay. By default the collector walks them 480 times, which
# takes longer than planning a scene.
_YOUNG_OBJECTS = 500_000


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="scenemosaic")
def cli() -> None:
    """Turn satellite scenes into mosaic COGs, with every output written at most once."""


for _command in COMMANDS:
    cli.add_command(_command)


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
    gc.set_threshold(_YOUNG_OBJECTS, 20, 20)
    signal.signal(signal.SIGINT, _interrupt)
    sys.exit(run(sys.argv[1:]))


def _interrupt(number: int, frame: FrameType | None) -> None:
    """The first Ctrl-C ends the run once the windows in hand are committed, the second at once."""
    signal.signal(signal.SIGINT, lambda *_: os._exit(INTERRUPTED))
    raise KeyboardInterrupt


if __name__ == "__main__":
    main()

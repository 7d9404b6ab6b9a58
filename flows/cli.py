"""The console script ``scenemosaic``. Heavy imports wait until a command needs them."""

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from flows.commands import COMMANDS
from flows.commands.helping import with_help, with_version
from flows.server.alive import HEARTBEAT, HEARTBEAT_S
from scenemosaic.machine import collector
from scenemosaic.machine.one_thread import one_thread_each
from scenemosaic.machine.without_boto3 import rasterio_without_boto3

if TYPE_CHECKING:
    from flows.terminal.console import Console


@click.group(context_settings={"max_content_width": 100})
def cli() -> None:
    """Turn satellite scenes into mosaic COGs, with every output written at most once."""


for _command in COMMANDS:
    cli.add_command(_command)
with_version(cli)
with_help(cli)


def run(arguments: Sequence[str]) -> int:
    """Run one command; its exit code. Every error of ours is one line on stderr."""
    from flows.terminal.console import Console, complain
    from flows.terminal.streams import OutputFailed

    try:
        return _run(arguments, Console("--json" in arguments))
    except OutputFailed as error:
        complain(str(error))
        return error.exit_code


def _run(arguments: Sequence[str], console: "Console") -> int:
    from flows.terminal import stopping
    from flows.terminal.streams import print_note
    from scenemosaic.errors import InputError, SceneMosaicError

    try:
        code: object = cli.main(list(arguments), prog_name="scenemosaic", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        print_note(error.format_message())
        return error.exit_code
    except click.UsageError as error:
        path = error.ctx.command_path if error.ctx is not None else "scenemosaic"
        return console.fail(InputError(f"{error.format_message()} (see {path} --help)"))
    except SceneMosaicError as error:
        return console.fail(error)
    except (click.Abort, KeyboardInterrupt) as error:
        return console.interrupted(stopping.exit_code(error))
    return code if isinstance(code, int) else 0


def main() -> None:
    """The entry point."""
    from flows.terminal import stopping, streams

    streams.open_closed_streams()
    one_thread_each()
    os.environ.setdefault(HEARTBEAT, str(HEARTBEAT_S))
    collector.rest_while_importing()
    rasterio_without_boto3()
    stopping.end_in_order()
    code = run(sys.argv[1:])
    collector.leave()
    sys.exit(code)


if __name__ == "__main__":
    main()

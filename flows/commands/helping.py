"""``--help`` and ``--version``, on every command: answers as any other, which a full disk ends."""

from collections.abc import Callable
from typing import Final

import click

from scenemosaic import __version__

HELP: Final = ("-h", "--help")


def with_version(command: click.Command) -> None:
    """Give a command ``--version``."""
    said = f"scenemosaic, version {__version__}"
    _add(command, ("--version",), "Show the version and exit.", lambda _: said)


def with_help(command: click.Command) -> None:
    """Give a command, and all below it, ``--help``: click's own ends in a traceback there."""
    _add(command, HELP, "Show this message and exit.", click.Context.get_help)
    for below in command.commands.values() if isinstance(command, click.Group) else ():
        with_help(below)


def _add(
    command: click.Command, names: tuple[str, ...], text: str, said: Callable[[click.Context], str]
) -> None:
    def tell(context: click.Context, _: click.Parameter, is_asked: bool) -> None:
        from flows.terminal.streams import print_answer

        if is_asked and not context.resilient_parsing:
            print_answer(said(context))
            context.exit()

    option = click.Option(
        names, is_flag=True, expose_value=False, is_eager=True, help=text, callback=tell
    )
    command.params.append(option)

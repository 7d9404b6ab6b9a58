"""Every command of the command line with its arguments and options, from click."""

import re
from collections.abc import Iterator
from inspect import cleandoc

import click

from flows.cli import cli
from reference.markdown import code, prose, table

HEAD = """# Commands

Made from the code. `scenemosaic COMMAND --help` says the same. With `--json` exactly one JSON
object goes to stdout, and everything else to stderr. [Errors](errors.md) has the exit codes.
"""

# Defaults and bounds, which stand behind an option's help.
_EXTRAS = re.compile(r"(.*?)((?:\s*\[[^\]]*\])*)", re.DOTALL)


def page() -> str:
    """The page in Markdown."""
    return "\n".join([HEAD, *_commands(cli, "scenemosaic")])


def _commands(group: click.Group, path: str) -> Iterator[str]:
    for name in group.commands:
        command = group.commands[name]
        if isinstance(command, click.Group):
            yield from _commands(command, f"{path} {name}")
        else:
            yield from _command(command, f"{path} {name}")


def _command(command: click.Command, path: str) -> Iterator[str]:
    context = click.Context(command, info_name=path)
    yield f"## {path.removeprefix('scenemosaic ')}"
    yield ""
    yield "```text"
    yield " ".join([path, *command.collect_usage_pieces(context)])
    yield "```"
    yield ""
    yield prose(cleandoc(re.sub(r"[\b\f]", "", command.help or "")))
    options = [one for one in command.params if isinstance(one, click.Option) and not one.hidden]
    yield from table(("option", "what", "default"), (_option(one, context) for one in options))


def _option(option: click.Option, context: click.Context) -> tuple[str, str, str]:
    named, help_text = option.get_help_record(context) or ("", "")
    text, rest = _EXTRAS.fullmatch(help_text).groups()  # type: ignore[union-attr]
    default = re.search(r"default: ([^;\]]+)", rest)
    bounds = re.search(r"[0-9.]*(?:<=|<)?x(?:>=|<=|<|>)?[0-9.]*", rest)
    said = f"{text} ({bounds[0]})" if bounds else text
    return code(named.replace(" RANGE", "")), said, code(default[1]) if default else ""

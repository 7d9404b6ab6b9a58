"""The commands' declarations: names, options and help. Nothing heavy is imported here."""

from collections.abc import Sequence
from typing import Final

import click

from flows.commands.demo import demo
from flows.commands.jobs import assemble, status
from flows.commands.process import process
from flows.commands.roots import gc, init, preflight

COMMANDS: Final[Sequence[click.Command]] = (
    process,
    assemble,
    status,
    init,
    demo,
    preflight,
    gc,
)

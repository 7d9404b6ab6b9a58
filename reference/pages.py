"""Which pages there are, by their names below ``reference/``."""

from collections.abc import Callable, Mapping
from typing import Final

from reference import blocks, commands, environment, errors, flows, watching

PAGES: Final[Mapping[str, Callable[[], str]]] = {
    "commands.md": commands.page,
    "flows.md": flows.page,
    "blocks.md": blocks.page,
    "errors.md": errors.page,
    "watching.md": watching.page,
    "environment.md": environment.page,
}

"""How far an assembly is, as whoever watches is told."""

from collections.abc import Callable
from typing import Final

# The phases: of the first boxes are counted, of the second bytes.
MAKING: Final = "making smaller levels"
COPYING: Final = "copying"

# What is done, of how much, and the phase.
Progress = Callable[[int, int, str], None]
# The same of one phase.
Told = Callable[[int, int], None]


def silent(done: int, total: int, phase: str) -> None:
    """The progress of whoever does not care."""


def untold(done: int, total: int) -> None:
    """The same of one phase."""

"""Python's garbage collector: imports make 250,000 objects that stay, which need not be walked."""

import gc
from typing import Final

# By default the collector walks them 480 times, which takes longer than planning a scene.
_WHILE_IMPORTING: Final = (500_000, 20, 20)
_AT_WORK: Final = 10_000


def rest_while_importing() -> None:
    """Let the collector come seldom, until :func:`work` is called."""
    gc.set_threshold(*_WHILE_IMPORTING)


def work() -> None:
    """What is there stays: from here on the collector does not walk it, and may come often."""
    gc.freeze()
    gc.set_threshold(_AT_WORK, 10, 10)


def leave() -> None:
    """Have the interpreter end without walking all there is twice more: 0.6 s after Prefect."""
    gc.freeze()

"""How often what must hold is tried: each time as often as shows it, in full where that is asked.

``SCENEMOSAIC_FULL=1 make test`` takes the numbers that the project promises; they take twice
the CPU of all other tests, most of it in emulators.
"""

import os
from typing import Final

IS_FULL: Final = os.environ.get("SCENEMOSAIC_FULL") == "1"


def length(usual: int, full: int) -> int:
    """One of the two."""
    return full if IS_FULL else usual

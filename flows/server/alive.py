"""How runs say that they live, and how long they may be silent. Pure."""

from typing import Final

HEARTBEAT: Final = "PREFECT_FLOWS_HEARTBEAT_FREQUENCY"
# Prefect's own default is 180, which is longer than the silence below; fewer than 30 it refuses.
HEARTBEAT_S: Final = 30
SILENCE: Final = "SCENEMOSAIC_SILENCE_S"
SILENCE_S: Final = 120
# Prefect takes no shorter one.
LEAST_SILENCE_S: Final = 10
# A run that was taken may be so many times as silent before it begins.
PENDING: Final = 5

"""The soak itself, for so many minutes as SOAK_MINUTES says; it is none of ``make test``.

``make soak``, or ``SOAK_MINUTES=10 pytest -m soak``.
"""

import os
from pathlib import Path

import pytest

from tests.soak.run import run

MINUTES = os.environ.get("SOAK_MINUTES", "")
SEED = int(os.environ.get("SOAK_SEED", "8"))
QUIET_S = 3600


@pytest.mark.soak
@pytest.mark.skipif(not MINUTES, reason="SOAK_MINUTES says for how long")
@pytest.mark.timeout(float(MINUTES or 0) * 60 + QUIET_S)
def test_nothing_is_lost_doubled_or_left_open(tmp_path: Path) -> None:
    result = run(float(MINUTES), SEED, tmp_path)
    print(result.table)
    assert result.violations == []

"""Invariant 5: SIGKILL at any moment, then the same command again: it converges, same bytes."""

import contextlib
import json
import os
import random
import signal
import time
from pathlib import Path

from tests.jobs.places import MakePlace, Place, finish
from tests.lengths import length

# Fewer of them in a bucket, where a run does twice as much.
ROUNDS, IN_A_BUCKET = length(12, 20), length(6, 20)
WINDOW = 512


def _killed(place: Place, scene: Path, run_id: str, after_s: float) -> bool:
    """Whether the run was still at work when it was killed."""
    process = place.start(scene, WINDOW, run_id)
    time.sleep(after_s)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    code, _, _ = finish(process)
    return code == -signal.SIGKILL


def test_killed_at_random_moments_it_converges(make_place: MakePlace, scene: Path) -> None:
    code, _, err = finish((first := make_place()).start(scene, WINDOW, "whole"))
    assert code == 0, err
    expected, chance, hits, after_s = first.versions(), random.Random(7), 0, 1.0
    rounds = IN_A_BUCKET if first.root.startswith("s3:") else ROUNDS
    for number in range(rounds):
        place = make_place()
        hit = _killed(place, scene, f"killed-{number}", after_s * chance.uniform(0.2, 1.0))
        # However busy the machine is by now, the kills stay about where a run ends.
        hits, after_s = hits + hit, after_s * (1.25 if hit else 0.5)
        code, out, err = finish(place.start(scene, WINDOW, f"again-{number}"))
        assert code == 0, err
        assert json.loads(out)["windows"] == 9
        assert place.versions() == expected
    assert hits >= rounds // 4, "many kills must meet a run at work"

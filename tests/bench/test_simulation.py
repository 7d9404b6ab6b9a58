"""The simulation: the same seed gives the same; every window is there once, whatever happens."""

from dataclasses import replace
from typing import Any

import pytest

from bench import simulate as command
from bench.simulation.parameters import Parameters
from bench.simulation.run import Result, simulate

SMALL = Parameters(workers=40, windows=400, batch=5, assembly_s=5.0)
QUIET = replace(SMALL, duplicates=0.0, deaths_per_h=0.0, stalls_per_h=0.0, lost=0.0)
WILD = replace(
    SMALL, duplicates=0.3, deaths_per_h=60.0, stalls_per_h=60.0, lost=0.05, lease_s=5.0,
    assembly_s=120.0,
)  # fmt: skip


def assert_once(result: Result, given: Parameters) -> None:
    assert result.tiles == result.rows == given.windows
    assert 0 < result.rows_at_s < result.mosaic_at_s
    assert 0 <= round(result.wasted_share, 9) < 1


def test_nothing_goes_wrong_and_nothing_is_wasted() -> None:
    result = simulate(QUIET)
    assert_once(result, QUIET)
    assert result.wasted_share == pytest.approx(0)
    assert dict(result.counts) == {"assemblies begun": 1}


@pytest.mark.parametrize("seed", range(5))
def test_every_window_is_there_once_whatever_happens(seed: int) -> None:
    given = replace(WILD, seed=seed)
    result = simulate(given)
    assert_once(result, given)
    for what in ("deaths", "leases lapsed", "put refused", "own write found", "retries"):
        assert result.counts[what] > 0, what
    assert result == simulate(given)


def test_a_claim_is_taken_over_and_only_one_completes() -> None:
    given = replace(QUIET, windows=1, assembly_s=20.0, stalls_per_h=100.0)
    counts = [simulate(replace(given, seed=seed)).counts for seed in range(20)]
    assert sum(one.get("claims taken over", 0) for one in counts) > 0
    assert sum(one.get("completions refused", 0) for one in counts) > 0


def test_more_duplicates_waste_more() -> None:
    shares = [simulate(replace(QUIET, duplicates=share)) for share in (0.0, 0.05, 0.5)]
    wasted = [one.wasted_share for one in shares]
    assert wasted == sorted(set(wasted))


@pytest.mark.parametrize(
    ("limit", "seen"), [("puts_per_s", "slowed"), ("partition_units_per_s", "throttled")]
)
def test_limits_slow_down_and_lose_nothing(limit: str, seen: str) -> None:
    changes: dict[str, Any] = {limit: 4.0}
    slow, quick = simulate(replace(QUIET, **changes)), simulate(QUIET)
    assert_once(slow, QUIET)
    assert slow.counts[seen] > 0
    assert slow.rows_at_s > quick.rows_at_s


def test_the_command_states_its_parameters(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--workers", "40", "--windows", "200", "--seed", "7"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("seed 7, workers 40, windows 200, ")
    lines = [line for line in said.splitlines() if line.startswith("| ")]
    assert len(lines) == 2 + len(command.SCENARIOS)

"""A thousand workers on one job, simulated: ``python -m bench.simulate``.

What is simulated is the product's own procedure: a delivery asks the manifest first, a tile
is a conditional PUT, whose refusal is read back, a row is a conditional insert, and of many
assemblers one holds a claim that expires. Around it are an object store and a manifest with
latencies and limits, deliveries that come twice, machines that die or stand still, and replies
that are lost. Every parameter stands in :mod:`bench.simulation.parameters` and is printed; what
a line changes stands in its first column. The same seed gives the same table.
"""

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from bench import results
from bench.simulation.parameters import Parameters
from bench.simulation.run import Result, simulate

BASE = Parameters()
BUSY: Mapping[str, Any] = {
    "window_s": 0.05,
    "table_units_per_s": 40_000.0,
}
SCENARIOS: Sequence[Mapping[str, Any]] = (
    {},
    {"duplicates": 0.001},
    {"duplicates": 0.05},
    {"duplicates": 1.0},
    {"deaths_per_h": 2.0},
    {"stalls_per_h": 2.0},
    {"stalls_per_h": 2.0, "lease_s": 15.0},
    {"lost": 0.01},
    {"deaths_per_h": 2.0, "stalls_per_h": 2.0, "duplicates": 0.05, "lost": 0.01},
    {"deaths_per_h": 10.0, "stalls_per_h": 20.0, "assembly_s": 600.0},
    {"window_s": 1.0},
    {"window_s": 0.2},
    {"window_s": 0.2, "row_units": 4},
    {"window_s": 0.2, "row_units": 4, "paced": False},
    {"window_s": 0.2, "in_order": True},
    {"window_s": 0.2, "row_units": 4, "in_order": True},
    BUSY,
    {**BUSY, "prefixes": 4},
)
COLUMNS = (
    *("wasted compute", "tile PUTs refused", "row inserts refused", "own write found"),
    *("503", "throttled", "retries", "gave up", "claims taken over", "completions refused"),
    *("rows, s", "to ideal", "mosaic, s"),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; prints Markdown to stdout."""
    parser = argparse.ArgumentParser(prog="python -m bench.simulate", description=__doc__)
    parser.add_argument("--seed", type=int, default=BASE.seed)
    parser.add_argument("--workers", type=int, default=BASE.workers)
    parser.add_argument("--windows", type=int, default=BASE.windows)
    parser.add_argument("--write", action="store_true", help="into bench/RESULTS.md as well")
    options = parser.parse_args(arguments)
    given = replace(BASE, seed=options.seed, workers=options.workers, windows=options.windows)
    lines = []
    for line in report(given, SCENARIOS):
        print(line, flush=True)
        lines.append(line)
    if options.write:
        results.write("simulate", lines)
    return 0


def report(given: Parameters, scenarios: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The parameters, then a line for each scenario."""
    yield ", ".join(f"{name} {_value(value)}" for name, value in asdict(given).items())
    yield ""
    yield "| changed | " + " | ".join(COLUMNS) + " |"
    yield "| --- |" + " ---: |" * len(COLUMNS)
    for changes in scenarios:
        yield _line(changes, simulate(replace(given, **changes)))


def _value(value: object) -> str:
    if isinstance(value, dict):
        return "(" + ", ".join(f"{name} {one:g}" for name, one in value.items()) + ")"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _line(changes: Mapping[str, Any], result: Result) -> str:
    counts = result.counts
    cells = (
        f"{100 * result.wasted_share:.2f} %",
        *(counts.get(name, 0) for name in ("put refused", "row refused", "own write found")),
        *(counts.get(name, 0) for name in ("slowed", "throttled", "retries", "gave up")),
        *(counts.get(name, 0) for name in ("claims taken over", "completions refused")),
        f"{result.rows_at_s:.0f}",
        f"{result.rows_at_s / result.ideal_s:.2f}",
        f"{result.mosaic_at_s:.0f}",
    )
    changed = ", ".join(f"{name} {value:g}" for name, value in changes.items()) or "nothing"
    return f"| {changed} | " + " | ".join(map(str, cells)) + " |"


if __name__ == "__main__":
    sys.exit(main())

"""What Prefect costs: the flow beside the engine alone, the same job, turn by turn.

Both are whole processes, started, imported and ended. The flow has a running server with the
settings of deployments/server.env. Orchestration's share of the wall is what the flow takes
longer than the engine, as a share of the flow's: of the least walls of all turns. Its CPU a
window is the flow's process less the engine's, and the server's own until it rests after the
run; the least of the turns each.
"""

import argparse
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import cases, table
from bench.cases import PYTHON, Place
from bench.measure import Cost, group_cpu_s, run
from bench.places import place_of, say, tiny_place
from bench.server import PrefectServer, prefect_server

WORKERS = 2
WALL_SHARE = 0.05
CPU_MS = 1.0
TINY_WINDOW = 16
TINY_SIZE = 100 * TINY_WINDOW  # 10,000 windows
_REST_S, _RESTS_BELOW_S, _REST_TURNS = 2.0, 0.15, 30


@dataclass(frozen=True)
class Turn:
    """One run of each, and what the server used for the flow's."""

    flow: Cost
    engine: Cost
    server_s: float


def wall_share(turns: Sequence[Turn]) -> float:
    """What the flow takes longer than the engine, as a share of the flow's wall."""
    flow = min(turn.flow.wall_s for turn in turns)
    return (flow - min(turn.engine.wall_s for turn in turns)) / flow


def client_ms(turns: Sequence[Turn], windows: int) -> float:
    """CPU milliseconds a window of the flow's process beyond the engine's."""
    flow = min(turn.flow.cpu_s for turn in turns)
    return 1000 * (flow - min(turn.engine.cpu_s for turn in turns)) / windows


def server_ms(turns: Sequence[Turn], windows: int) -> float:
    """CPU milliseconds a window of the server."""
    return 1000 * min(turn.server_s for turn in turns) / windows


def report(options: argparse.Namespace, folder: Path) -> Iterator[str]:
    """Both jobs as Markdown."""
    yield "| orchestration of | measured | limit | kept |"
    yield "| --- | ---: | ---: | --- |"
    place = place_of(options, folder)
    with (
        tempfile.TemporaryDirectory(prefix="scenemosaic-bench-", dir=options.tiny_scratch) as tiny,
        prefect_server(folder / "server") as server,
    ):
        yield from _job(place, server, options.runs)
        place = tiny_place(Path(tiny) / "tiny", TINY_SIZE, TINY_WINDOW)
        yield from _job(place, server, options.runs)


def _job(place: Place, server: PrefectServer, runs: int) -> Iterator[str]:
    plan = _plan(place)
    windows = int(plan["windows"])
    turns = [_turn(place, server, f"{number}/{runs}") for number in range(1, runs + 1)]
    place.clear()
    name = f"{windows} windows of {place.window} x {place.window} x 3"
    costs = (
        (f"{name}: client CPU ms a window", client_ms(turns, windows)),
        (f"{name}: server CPU ms a window", server_ms(turns, windows)),
    )
    share = f"{name}: share of the wall", wall_share(turns)
    tiny = place.window == TINY_WINDOW
    yield from (table.claim(*cost, CPU_MS) if tiny else _told(*cost) for cost in costs)
    yield _told(*share) if tiny else table.claim(*share, WALL_SHARE)
    batch_s = min(_windows_s(turn.engine) for turn in turns) * WORKERS / int(plan["batches"])
    yield _told(f"{name}: seconds a batch, of {plan['batches']}", batch_s)
    yield _costs(f"{name}: flow", [turn.flow for turn in turns])
    yield _costs(f"{name}: engine", [turn.engine for turn in turns])


def _told(text: str, value: float) -> str:
    return f"| {text} | {value:.3f} | | |"


def _costs(name: str, costs: Sequence[Cost]) -> str:
    cpu = table.spread([cost.cpu_s for cost in costs])
    wall = table.spread([cost.wall_s for cost in costs])
    peak = max(cost.peak_bytes for cost in costs) / table.MB
    return f"| {name}: CPU s; wall s; peak MB | {cpu}; {wall}; {peak:.0f} | | |"


def _turn(place: Place, server: PrefectServer, name: str) -> Turn:
    flow, _ = cases.flow(place, server, "flow")
    before = rested_cpu_s(server.group)
    cost = flow.run()
    server_s = rested_cpu_s(server.group) - before
    alone = cases.engine(place, "engine").run()
    say(
        f"{name} flow {cost.cpu_s:.2f} s CPU, {cost.wall_s:.2f} s wall; "
        f"engine {alone.cpu_s:.2f}, {alone.wall_s:.2f}; server {server_s:.2f} s CPU"
    )
    return Turn(cost, alone, server_s)


def rested_cpu_s(group: int) -> float:
    """The CPU of a server once it has nothing left to record."""
    before = group_cpu_s(group)
    for _ in range(_REST_TURNS):
        time.sleep(_REST_S)
        now = group_cpu_s(group)
        if now - before < _RESTS_BELOW_S:
            return now
        before = now
    return before


def _plan(place: Place) -> Mapping[str, Any]:
    """What a dry run tells; it also hashes the scene, which is then known to every turn."""
    command = [PYTHON, "-m", "flows.cli", "process", str(place.scene), "--to", str(place.root)]
    return run(
        [*command, *place.coding, "--workers", str(WORKERS), "--dry-run", "--json"], place.env
    )


def _windows_s(cost: Cost) -> float:
    return float(cost.told["stages"]["windows"]["wall_s"])

"""Must hold: every fifth reply is lost, and a scene of many windows is done as if none were."""

import itertools
import json
import re
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from scenemosaic import job
from scenemosaic.planning import PlanOptions
from scenemosaic.session import JobSpec, Run
from scenemosaic.waiting.deadlines import VARIABLE
from tests.faults.proxy import Fault, Proxy, seeded
from tests.faults.wire import Request
from tests.flows.serving import run_command
from tests.jobs.conftest import write_scene
from tests.jobs.places import MakePlace, Place, client
from tests.lengths import length

pytestmark = pytest.mark.slow
WINDOW, ACROSS = 64, length(12, 20)
WINDOWS = ACROSS * ACROSS
LOST = 0.2
QUICK = (Fault.RESET, Fault.ANSWER_500, Fault.ANSWER_503, Fault.CUT_REPLY)
# These cost a call's whole deadline: it is short, and every so many faults are one of them.
SLOW, EACH = (Fault.HANG, Fault.DRIP), length(15, 40)
DEADLINE_S = 5.0
ME = Run("me", "me")


@pytest.fixture(scope="module")
def large_scene(tmp_path_factory: pytest.TempPathFactory) -> Path:
    side = WINDOW * ACROSS
    return write_scene(tmp_path_factory.mktemp("scene") / "scene.tif", side, side)


@pytest.fixture
def proxy(ministack: str) -> Iterator[Proxy]:
    quick = seeded(LOST, seed=20, faults=QUICK, only=lambda request: True)
    struck = itertools.count(1)

    def rule(request: Request) -> Fault | float | None:
        fault = quick(request)
        number = next(struck) if fault else 0
        return SLOW[number // EACH % 2] if fault and number % EACH == 0 else fault

    with Proxy(ministack, rule, drip_s=1.0) as running:
        yield running


@pytest.fixture
def lossy_place(s3_place: MakePlace, proxy: Proxy) -> Place:
    direct = s3_place()
    env = {"AWS_ENDPOINT_URL": proxy.url, "DIRECT": direct.env["AWS_ENDPOINT_URL"],
           VARIABLE: str(DEADLINE_S)}  # fmt: skip
    return Place(direct.root, direct.manifest, env)


def _once(place: Place, proxy: Proxy) -> None:
    """One version of each key, one row a window, nothing open; and enough was lost."""
    versions = place.versions()
    jobs = {key: found for key, found in versions.items() if not key.startswith("preflight/")}
    assert len(jobs) == WINDOWS + 4
    assert {len(found) for found in versions.values()} == {1}
    assert place.uploads() == []
    table = place.manifest.removeprefix("dynamodb://")
    pages = (
        client(place, "dynamodb")
        .get_paginator("scan")
        .paginate(TableName=table, ConsistentRead=True)
    )
    rows = [row for page in pages for row in page["Items"]]
    ours = [row for row in rows if re.match(r"[0-9a-f]{32}@", row["job_id"]["S"])]
    assert Counter(row["window"]["S"] for row in ours) == dict.fromkeys(_names(), 1)
    assert {row["revision"]["N"] for row in ours} == {"1"}
    assert {request.fault for request in proxy.requests} >= set(SLOW)
    struck = sum(request.fault is not None for request in proxy.requests)
    assert struck >= 0.15 * len(proxy.requests) >= 0.15 * 2 * WINDOWS


def _names() -> list[str]:
    numbers = [divmod(number, ACROSS) for number in range(WINDOWS)]
    return ["mosaic", *(f"{row:04d}_{col:04d}" for row, col in numbers)]


def test_the_engines_counters_are_those_of_the_wire(
    large_scene: Path, lossy_place: Place, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_ENDPOINT_URL", VARIABLE):
        monkeypatch.setenv(name, lossy_place.env[name])
    options = PlanOptions(window=WINDOW, block_size=WINDOW)
    spec = job.plan_job([str(large_scene)], lossy_place.root, lossy_place.manifest, options)
    job.prepare(spec)
    job.publish_plan(spec, ME)
    assert len(job.missing_windows(spec)) == WINDOWS
    counted = _commit_all(spec)
    puts = [seen for seen in proxy.requests if seen.method == "PUT" and "/tiles/" in seen.path]
    struck = [seen for seen in puts if seen.fault is not None]
    assert (counted["written"], counted["already_present"], counted["failed"]) == (WINDOWS, 0, 0)
    assert counted["diverged"] == counted["conflict_409_retried"] == 0
    assert counted["ambiguous"] == len(struck)
    assert counted["own_write_recovered"] == len({seen.path for seen in struck})
    assert counted["refused"] == sum(_refused(seen) for seen in puts)
    assert job.find_gaps(spec).missing == ()
    assert job.assemble(spec, ME).outcome == "written"
    _once(lossy_place, proxy)


def _commit_all(spec: JobSpec) -> Counter[str]:
    total: Counter[str] = Counter()
    with ThreadPoolExecutor(4) as pool:
        batches = pool.map(lambda first: job.commit_windows(spec, range(first, first + ACROSS), ME),
                           range(0, WINDOWS, ACROSS))  # fmt: skip
        for batch in batches:
            assert len(batch.outcomes) == ACROSS
            total.update(batch.counters)
    return total


def _refused(request: Request) -> bool:
    return request.status == 412 and request.fault is None


def test_process_exits_0(
    large_scene: Path, lossy_place: Place, proxy: Proxy, tmp_path: Path, prefect_server: str
) -> None:
    answer = run_command(
        ["process", str(large_scene), "--to", lossy_place.root, "--manifest", lossy_place.manifest,
         "--window", str(WINDOW), "--block-size", str(WINDOW), "--json"],
        tmp_path,
        {**lossy_place.env, "PREFECT_API_URL": prefect_server},
    )  # fmt: skip
    assert answer.code == 0, answer.err
    value = json.loads(answer.out)
    assert (value["windows"], value["written"], value["already_present"]) == (WINDOWS, WINDOWS, 0)
    assert value["missing"] == []
    assert value["mosaic"]["outcome"] == "written"
    _once(lossy_place, proxy)

"""What is explained beside what a run really asks for, counted by a proxy before the service."""

import math
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest

from scenemosaic import job
from scenemosaic.explain.memory import process_bytes
from scenemosaic.explain.mosaic_parts import mosaic_parts
from scenemosaic.explain.work import WRITE_UNIT_BYTES, requests
from scenemosaic.job import JobSpec, PlanOptions
from scenemosaic.manifests.packing import size_bytes
from scenemosaic.session import open_session
from tests import servers
from tests.faults.proxy import Proxy
from tests.faults.wire import Request
from tests.jobs.assembling import is_part, write_noise
from tests.jobs.conftest import write_scene
from tests.jobs.run_job import run


@dataclass(frozen=True)
class Seen:
    """A run's plan, and all that it asked for."""

    spec: JobSpec
    asked: list[Request]

    def count(self, wanted: Callable[[Request], bool]) -> int:
        return sum(map(wanted, self.asked))


def is_listing(request: Request) -> bool:
    query = parse_qs(request.query, keep_blank_values=True)
    return bool({"versions", "list-type", "uploads", "uploadId"} & set(query))


def is_put(request: Request) -> bool:
    changes = request.method in ("PUT", "POST")
    return not request.operation and (changes or is_listing(request))


def is_get(request: Request) -> bool:
    return request.method in ("GET", "HEAD") and not is_put(request)


def is_row(request: Request) -> bool:
    return request.operation in ("PutItem", "UpdateItem", "DeleteItem")


Case = tuple[Callable[[Path], Path], int]
CASES: dict[str, Case] = {
    "many": (lambda path: write_scene(path, 1300, 1100), 256),
    "levels": (lambda path: write_scene(path, 1300, 1100), 1024),
    "copied": (write_noise, 2048),
}


@pytest.fixture(scope="module", params=CASES)
def seen(
    request: pytest.FixtureRequest, ministack: str, tmp_path_factory: pytest.TempPathFactory
) -> Seen:
    write, window = CASES[request.param]
    scene = str(write(tmp_path_factory.mktemp("explain") / "scene.tif"))
    root = f"s3://{servers.make_bucket(ministack, versioned=True)}/some/root"
    manifest = f"dynamodb://{servers.fresh_table_name()}"
    with pytest.MonkeyPatch.context() as patch, Proxy(ministack) as proxy:
        patch.setenv("AWS_ENDPOINT_URL", proxy.url)
        assert run(scene, root, manifest, window, "run")["outcome"] == "written"
        spec = job.plan_job([scene], root, manifest, PlanOptions(window=window))
        asked = list(proxy.requests)
        rows = list(open_session(spec).manifest.rows(open_session(spec).partitions(spec)))
    units = sum(math.ceil(size_bytes(row) / WRITE_UNIT_BYTES) for row in rows)
    assert units <= requests(spec.plan, root, 1.0).write_units <= units + len(rows) + 8
    return Seen(spec, asked)


def test_what_was_explained_is_what_was_asked(seen: Seen) -> None:
    said = requests(seen.spec.plan, seen.spec.root, 1.0)
    tiles = seen.count(lambda one: one.method == "PUT" and "/tiles/" in one.path)
    assert tiles == said.tile_puts
    puts = seen.count(is_put)
    assert puts <= said.puts <= puts + 8
    gets = seen.count(is_get)
    assert gets <= said.gets <= 1.5 * gets + 12
    rows = seen.count(is_row)
    assert rows <= said.row_writes + said.other_row_writes <= rows + 6
    assert seen.count(lambda one: one.operation == "Query") <= said.queries


def test_the_mosaics_parts(seen: Seen) -> None:
    parts, sent = mosaic_parts(seen.spec.plan.recipe, 1.0), seen.count(is_part)
    if parts.is_single_put:
        assert sent == 0
    else:
        copied = seen.count(lambda one: is_part(one) and "x-amz-copy-source" in one.headers)
        assert copied == parts.copied
        assert abs(sent - parts.count) <= 1


_PEAK = """
import sys
import prefect.flows
from scenemosaic import job
spec = job.plan_job([sys.argv[1]], sys.argv[2], None, job.PlanOptions(window=int(sys.argv[3])))
job.prepare(spec)
job.commit_windows(spec, [0], job.Run("run", "run"))
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
print(int(status["VmHWM"].split()[0]) * 1024)
"""


def test_memory_is_an_upper_bound_and_no_fancy(tmp_path: Path) -> None:
    scene = write_scene(tmp_path / "scene.tif", 2048, 2048, bands=4)
    command = [sys.executable, "-c", _PEAK, str(scene), str(tmp_path / "root"), "2048"]
    made: Any = subprocess.run(
        command,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        text=True,
        timeout=200,
    )
    peak = int(made.stdout.split()[-1])
    spec = job.plan_job([str(scene)], str(tmp_path / "root"), None, PlanOptions(window=2048))
    assert peak <= process_bytes(spec.plan.recipe) <= 3 * peak

"""A source that stops answering, or refuses, in the middle.

Its windows are named, the others are committed, and what is done again is only what was missing.
"""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
import rasterio

from tests import servers
from tests.faults.proxy import Fault
from tests.faults.wire import Request
from tests.flows.scenes import BLOCK, WINDOW
from tests.flows.serving import Answer, run_command
from tests.recovery.conftest import Runner
from tests.recovery.place import WINDOWS, WORKERS, Place, check_done
from tests.recovery.runs import PROCESS, ended, retry, start, state_of, written

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]
KEY = "source/scene.tif"
LAST = "0002_0003"
DEADLINE_S = "1"
# GDAL asks for a block in up to three ways, each four times.
MOST_ASKED = 12


@pytest.fixture
def source(place: Place) -> str:
    """The scene, in the same store."""
    s3 = servers.aws_client("s3", place.endpoint)
    s3.put_object(Bucket=place.bucket, Key=KEY, Body=place.scene.read_bytes())
    return f"s3://{place.bucket}/{KEY}"


def of_the_last_block(place: Place) -> Callable[[Request], bool]:
    """Whether a request reads bytes of the last window's first block."""
    with rasterio.open(place.scene) as scene:
        col, row = 3 * WINDOW // BLOCK, 2 * WINDOW // BLOCK
        offset = int(scene.get_tag_item(f"BLOCK_OFFSET_{col}_{row}", "TIFF", bidx=1))

    def reads(request: Request) -> bool:
        given = re.fullmatch(r"bytes=(\d+)-(\d+)", request.headers.get("range", ""))
        if given is None or not request.path.endswith(KEY):
            return False
        return int(given[1]) <= offset <= int(given[2])

    return reads


def check_incomplete(place: Place, message: str) -> int:
    """How many windows are missing: those that the message names, and no row of them stands."""
    named = set(re.findall(r"\d{4}_\d{4}(?= \()", message))
    stand = place.windows()
    assert LAST in named, message
    assert len(named) <= 3, "those whose bytes lie beside"
    assert len(named) + len(stand) == WINDOWS
    assert not named & set(stand)
    assert not any("mosaics/" in key for key in place.objects())
    return len(named)


def test_it_refuses_and_the_run_is_retried(
    place: Place, source: str, prefect_server: str, runner: Runner
) -> None:
    assert runner.pid
    struck = of_the_last_block(place)
    place.gate.rule = lambda request: Fault.REFUSE_403 if struck(request) else None
    run_id = start(prefect_server, PROCESS, place.given(sources=[source]))
    failed = ended(prefect_server, run_id)
    assert state_of(failed) == ("Incomplete", "FAILED")
    missing = check_incomplete(place, failed["state"]["message"])
    stood, puts = place.windows(), place.tile_puts()

    place.gate.rule = lambda request: None
    for count, state in ((missing, "Mosaicked"), (0, "AlreadyMosaicked")):
        retry(prefect_server, run_id)
        again = ended(prefect_server, run_id)
        assert (state_of(again), written(again)) == ((state, "COMPLETED"), count)
        check_done(place, {run_id: WINDOWS})
        assert {name: place.tile_puts()[name] for name in stood} == puts


def test_it_hangs(place: Place, source: str, prefect_server: str, tmp_path: Path) -> None:
    def process() -> Answer:
        return run_command(
            [
                *("process", source, "--to", place.root, "--manifest", place.manifest, "--json"),
                *("--window", str(WINDOW), "--block-size", str(BLOCK)),
                *("--windows-per-task", "1", "--workers", str(WORKERS)),
            ],
            tmp_path,
            {
                "PREFECT_API_URL": prefect_server,
                "AWS_ENDPOINT_URL": place.gates.proxy.url,
                "SCENEMOSAIC_CALL_DEADLINE_S": DEADLINE_S,
            },
        )

    struck, hung = of_the_last_block(place), []

    def rule(request: Request) -> Fault | None:
        if not struck(request):
            return None
        hung.append(request)
        return Fault.HANG

    place.gate.rule = rule
    answer = process()
    assert answer.code == 3, answer.err
    first = answer.value()
    missing = check_incomplete(place, first["error"]["message"])
    assert first["written"] == WINDOWS - missing
    assert missing <= len(hung) <= MOST_ASKED * missing
    stood, puts = place.windows(), place.tile_puts()

    place.gate.rule = lambda request: None
    answer = process()
    assert answer.code == 0, answer.err
    again = answer.value()
    assert (again["written"], again["already_present"]) == (missing, WINDOWS - missing)
    check_done(place)
    assert {name: place.tile_puts()[name] for name in stood} == puts

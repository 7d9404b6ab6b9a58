"""Scenarios 1, 3 and 12 for the manifest: rows, their count, and what may hide one."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from scenemosaic.committing.commit import RetryPolicy, commit_row, retrying
from scenemosaic.errors import PermanentStoreError, TransientStoreError
from scenemosaic.gaps import find_gaps
from scenemosaic.grids.grid import Tiling
from scenemosaic.manifests.port import Existing, Inserted, Manifest
from tests import servers
from tests.faults.effects import FakeTime
from tests.faults.proxy import Fault, Proxy, once
from tests.faults.wire import Request
from tests.manifests.support import JOB, DynamoCase, columns_of, row

POLICY = RetryPolicy(attempts=6)
TILING = Tiling(7 * 64, 7 * 64, 64, 64)  # 49 windows, whose rows are more than two pages


@pytest.fixture
def proxy(ministack: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Proxy]:
    with Proxy(ministack) as running:
        monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", running.url)
        yield running


@pytest.fixture
def case(ministack: str) -> DynamoCase:
    return DynamoCase(ministack, servers.fresh_table_name())


@pytest.fixture
def manifest(proxy: Proxy, case: DynamoCase) -> Iterator[Manifest]:
    opened = case.open()
    opened.ensure()
    yield opened
    opened.close()


def inserts(request: Request) -> bool:
    return request.operation == "PutItem"


def queries(request: Request) -> bool:
    return request.operation == "Query"


def nth(fault: Fault, number: int, only: Callable[[Request], bool]) -> Callable[[Request], object]:
    """A rule that strikes the ``number``-th such request alone, from 1 on."""
    seen: list[Request] = []

    def rule(request: Request) -> Fault | None:
        if only(request):
            seen.append(request)
        return fault if only(request) and len(seen) == number else None

    return rule


@pytest.mark.parametrize("fault", [Fault.RESET, Fault.ANSWER_500, Fault.CUT_REPLY])
def test_scenario_01_an_insert_landed_and_its_reply_was_lost(
    manifest: Manifest, case: DynamoCase, proxy: Proxy, fault: Fault
) -> None:
    proxy.rule = once(fault, inserts)
    assert commit_row(manifest, row(), POLICY, FakeTime().effects()) == Inserted()
    assert case.raw_read(JOB, "0000_0000") == columns_of(row())


def test_scenario_03_a_delayed_insert_lands_after_another_runs(
    manifest: Manifest, case: DynamoCase, proxy: Proxy
) -> None:
    theirs = row(written_by="run-2")
    proxy.rule = once(Fault.HOLD, inserts)
    with pytest.raises(TransientStoreError):
        manifest.insert(row())
    assert manifest.insert(theirs) == Inserted()
    proxy.release()
    assert case.raw_read(JOB, "0000_0000") == columns_of(theirs)
    assert commit_row(manifest, row(), POLICY, FakeTime().effects()) == Existing(theirs)


def test_scenario_03_a_delayed_insert_lands_after_its_own_repetition(
    manifest: Manifest, case: DynamoCase, proxy: Proxy
) -> None:
    proxy.rule = once(Fault.HOLD, inserts)
    assert commit_row(manifest, row(), POLICY, FakeTime().effects()) == Inserted()
    proxy.release()
    assert case.raw_read(JOB, "0000_0000") == columns_of(row())


@pytest.fixture
def all_but_one(manifest: Manifest) -> str:
    """Every window has a row of 48 KiB but this one."""
    missing, *others = [window.name for window in reversed(list(TILING.windows()))]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda name: manifest.insert(row(name, blocks=bytes(48 << 10))), others))
    return missing


def test_scenario_12_a_count_in_pages_finds_the_one_gap(
    manifest: Manifest, proxy: Proxy, all_but_one: str
) -> None:
    proxy.clear()
    assert find_gaps(TILING, manifest.windows([JOB])).missing == (all_but_one,)
    assert len(list(manifest.rows([JOB]))) == len(TILING) - 1
    assert sum(map(queries, proxy.requests)) >= 3


@pytest.mark.parametrize("fault", [Fault.REFUSE_503, Fault.RESET, Fault.CUT_REPLY])
def test_scenario_12_a_throttled_page_is_never_the_last_one(
    manifest: Manifest, proxy: Proxy, all_but_one: str, fault: Fault
) -> None:
    proxy.rule = nth(fault, 2, queries)  # type: ignore[assignment]
    with pytest.raises(TransientStoreError):
        list(manifest.rows([JOB]))
    proxy.rule = nth(fault, 2, queries)  # type: ignore[assignment]
    rows = retrying(lambda: list(manifest.rows([JOB])), POLICY, FakeTime().effects())
    names = [found.window for found in rows]
    assert find_gaps(TILING, names).missing == (all_but_one,)
    assert len(names) == len(TILING) - 1


@pytest.mark.parametrize("page", [1, 2])
def test_scenario_12_without_permission_to_read_nothing_is_complete(
    manifest: Manifest, proxy: Proxy, all_but_one: str, page: int
) -> None:
    proxy.rule = nth(Fault.REFUSE_403, page, queries)  # type: ignore[assignment]
    with pytest.raises(PermanentStoreError, match="AccessDenied"):
        list(manifest.rows([JOB]))

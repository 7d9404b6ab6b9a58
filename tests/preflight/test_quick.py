"""The short form that every run begins with: once, cheap, and enough to stop a pretender."""

import hashlib
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from scenemosaic import job, keys
from scenemosaic.errors import PreconditionsIgnored, TransientStoreError
from scenemosaic.manifests import open_manifest
from scenemosaic.manifests.port import Manifest
from scenemosaic.planning import PlanOptions
from scenemosaic.preflight import memory as memories
from scenemosaic.preflight.memory import VALID_S, Memory
from scenemosaic.preflight.quick import FIRST, check_manifest, check_store, other_etag
from scenemosaic.stores import open_store
from scenemosaic.stores.port import Body, IfAbsent, Store
from scenemosaic.waiting.retry import RetryPolicy
from tests import servers
from tests.faults.effects import FakeTime
from tests.faults.proxy import Fault, Proxy, seeded
from tests.faults.stores import LostReplyStore, RacingStore, Wrapper
from tests.jobs.conftest import write_scene
from tests.manifests import support
from tests.preflight import pretenders, services
from tests.preflight.conftest import s3_door, sqlite_count
from tests.stores.cloud_doors import azure_container, gcs_bucket

POLICY = RetryPolicy()


@pytest.fixture(autouse=True)
def _fresh_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memories, "_seen", {})


class Remote(Wrapper):
    """A folder that passes for a remote store."""

    def __init__(self, inner: Store) -> None:
        super().__init__(inner)
        self.uri = "s3://bucket/root"


def check(store: Store, memory: Memory | None = None) -> None:
    check_store(store, memory or Memory(), POLICY, FakeTime().effects())


def test_it_leaves_one_object_and_asks_once(
    s3_store: Callable[[bool], Store], ministack: str
) -> None:
    store = s3_store(True)
    door = s3_door(store, ministack)
    counted = Wrapper(store)
    for _ in range(3):
        check(counted)
    assert (counted.writes, counted.heads) == (3, 0)
    assert door.keys() == [keys.PROBE_KEY]
    assert door.versions(keys.PROBE_KEY) == 1
    assert door.read(keys.PROBE_KEY) == FIRST


def test_many_at_once_leave_one_version(s3_store: Callable[[bool], Store], ministack: str) -> None:
    store = s3_store(True)
    barrier = threading.Barrier(8)

    def run(number: int) -> None:
        barrier.wait()
        check(store, Memory(environment={"AWS_PROFILE": str(number)}))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(run, range(8)))
    door = s3_door(store, ministack)
    assert door.versions(keys.PROBE_KEY) == 1
    assert door.read(keys.PROBE_KEY) == FIRST


@pytest.mark.parametrize(
    "pretender",
    [
        pretenders.IgnoresAll,
        pretenders.IgnoresCreates,
        pretenders.IgnoresMatches,
        pretenders.RefusesAndWrites,
    ],
)
def test_a_pretender_is_refused_and_never_remembered(
    pretender: type[pretenders.Probed], local_store: Store
) -> None:
    store = Remote(pretender(local_store))
    for _ in range(2):
        with pytest.raises(PreconditionsIgnored, match=r"s3://bucket/root ignores preconditions"):
            check(store)


def test_an_intruder_of_an_earlier_run_is_seen(local_store: Store) -> None:
    pretending = Remote(pretenders.IgnoresCreates(local_store))
    with pytest.raises(PreconditionsIgnored):
        check(pretending)
    with pytest.raises(PreconditionsIgnored, match="overwrote"):
        check(Remote(local_store))


def test_a_store_without_if_match_that_says_so_is_none(local_store: Store) -> None:
    check(Remote(pretenders.HasNoMatch(local_store)))


@pytest.mark.parametrize("lands", [True, False])
@pytest.mark.parametrize("lost", [1, 3])
def test_lost_replies_and_conflicts_are_sent_again(
    local_store: Store, lost: int, lands: bool
) -> None:
    check(Remote(LostReplyStore(local_store, lost=lost, lands=lands)))
    memories._seen.clear()
    check(Remote(RacingStore(local_store, conflicts=lost)), Memory({"AWS_PROFILE": "other"}))
    assert local_store.get(keys.PROBE_KEY) == FIRST


def test_a_store_that_never_answers_is_no_pretender(local_store: Store) -> None:
    with pytest.raises(TransientStoreError):
        check(Remote(LostReplyStore(local_store, lost=100)))


def test_somebody_elses_object_is_left_alone(s3_store: Callable[[bool], Store]) -> None:
    store = s3_store(False)
    data = b"theirs"
    body = Body(data, hashlib.sha256(data).hexdigest(), "text/plain", {})
    store.put(keys.PROBE_KEY, body, IfAbsent())
    check(store)
    assert store.get(keys.PROBE_KEY) == b"theirs"


def test_a_folder_is_tried_each_time_and_shows_nothing_of_it(
    local_store: Store, tmp_path: Path
) -> None:
    for _ in range(2):
        check(local_store)
    assert list(local_store.list("")) == []
    assert [path.name for path in (tmp_path / "root").iterdir()] == [".scenemosaic"]


def test_a_folder_that_pretends_is_refused(
    local_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    check(local_store)
    monkeypatch.setattr("fcntl.flock", lambda descriptor, how: None)
    with pytest.raises(PreconditionsIgnored, match=r"root ignores preconditions.*two holders"):
        check(local_store)


def test_sqlite_is_asked_once(sqlite_rows: Manifest) -> None:
    sqlite_rows.ensure()
    for _ in range(2):
        check_manifest(sqlite_rows, Memory(), POLICY, FakeTime().effects())
    assert list(sqlite_rows.windows([keys.PROBE_PARTITION])) == [keys.PROBE_ROW]
    assert sqlite_count(sqlite_rows) == 1


def test_a_table_is_asked_once(ministack: str, dynamo_rows: Manifest, table_name: str) -> None:
    dynamo_rows.ensure()
    for _ in range(2):
        check_manifest(dynamo_rows, Memory(), POLICY, FakeTime().effects())
    client = servers.aws_client("dynamodb", ministack)
    items = client.scan(TableName=table_name, ConsistentRead=True)["Items"]
    assert [(item["job_id"]["S"], item["window"]["S"]) for item in items] == [
        (keys.PROBE_PARTITION, keys.PROBE_ROW)
    ]
    assert items[0]["written_by"]["S"] == "first"
    assert items[0]["revision"]["N"] == "1"


def test_a_manifest_that_pretends_is_refused(tmp_path: Path) -> None:
    manifest = support.IgnoresConditions(support.SqliteCase(tmp_path))
    manifest.ensure()
    manifest.url = "postgresql+psycopg://host/database"
    for _ in range(2):
        with pytest.raises(PreconditionsIgnored, match="insert over a row"):
            check_manifest(manifest, Memory(), POLICY, FakeTime().effects())


def test_a_manifest_that_ignores_revisions_is_refused(tmp_path: Path) -> None:
    class IgnoresRevisions(support.IgnoresConditions):
        insert = support.Cheat.insert

    manifest = IgnoresRevisions(support.SqliteCase(tmp_path))
    manifest.ensure()
    manifest.url = "postgresql+psycopg://host/database"
    with pytest.raises(PreconditionsIgnored, match="another revision"):
        check_manifest(manifest, Memory(), POLICY, FakeTime().effects())


@pytest.mark.parametrize(
    "etag", ['"9b2cf535f27731c974343645a3985328-2"', '"0x8DCA1"', "1", "1732891", '"000"']
)
def test_another_etag_is_another_and_alike(etag: str) -> None:
    other = other_etag(etag)
    assert len(other) == (1 if etag.isdecimal() else len(etag))
    assert other != etag
    assert other.isdecimal() == etag.isdecimal()


# -- memory


def test_it_is_remembered_on_disk_for_a_time(tmp_path: Path) -> None:
    now = [1000.0]
    memory = Memory({}, tmp_path / "deep" / "cache", lambda: now[0])
    assert not memory.knows("s3://bucket")
    memory.remember("s3://bucket")
    memories._seen.clear()  # another process
    assert memory.knows("s3://bucket")
    assert not memory.knows("s3://bucket/other")
    now[0] += VALID_S - 1
    assert memory.knows("s3://bucket")
    now[0] += 1
    assert not memory.knows("s3://bucket")
    now[0] = 999.0  # a clock that was set back
    assert not memory.knows("s3://bucket")


@pytest.mark.parametrize(
    "name", ["AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_PROFILE", "STORAGE_EMULATOR_HOST"]
)
def test_another_endpoint_is_another_place(tmp_path: Path, name: str) -> None:
    Memory({name: "http://one"}, tmp_path).remember("s3://bucket")
    assert Memory({name: "http://one"}, tmp_path).knows("s3://bucket")
    assert not Memory({name: "http://two"}, tmp_path).knows("s3://bucket")
    assert not Memory({}, tmp_path).knows("s3://bucket")


@pytest.mark.parametrize("text", ["", "{", "[]", '{"checked_at": "x"}', '{"checked_at": null}'])
def test_a_spoilt_memory_is_none(tmp_path: Path, text: str) -> None:
    memory = Memory({}, tmp_path, lambda: 0.0)
    memory.remember("s3://bucket")
    memories._seen.clear()
    (entry,) = tmp_path.iterdir()
    entry.write_text(text)
    assert not memory.knows("s3://bucket")


def test_it_works_where_nothing_can_be_kept(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    memory = Memory({}, tmp_path / "file" / "cache")
    memory.remember("s3://bucket")
    assert memory.knows("s3://bucket")


def test_no_secret_is_kept(tmp_path: Path) -> None:
    secret = "DefaultEndpointsProtocol=https;AccountKey=c2VjcmV0"
    Memory({"AZURE_STORAGE_CONNECTION_STRING": secret}, tmp_path).remember("az://container")
    (entry,) = tmp_path.iterdir()
    assert "c2VjcmV0" not in entry.read_text() + entry.name


# -- in front of a job


@pytest.fixture
def plan(tmp_path: Path) -> Callable[[str, str], job.JobSpec]:
    scene = write_scene(tmp_path / "scene.tif", 300, 300)
    options = PlanOptions(window=512)
    return lambda root, manifest: job.plan_job([str(scene)], root, manifest, options)


def test_no_job_runs_where_rclone_pretends(
    plan: Callable[[str, str], job.JobSpec], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with servers.running(services.start_rclone(tmp_path / "rclone")) as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL", server.url)
        spec = plan(f"s3://{services.BUCKET}/root", f"sqlite:///{tmp_path}/rows.db")
        for _ in range(2):
            with pytest.raises(PreconditionsIgnored, match="a create over an object"):
                job.prepare(spec)
    data = tmp_path / "rclone" / "data" / services.BUCKET
    found = [path.relative_to(data).as_posix() for path in data.rglob("*") if path.is_file()]
    assert found == [f"root/{keys.PROBE_KEY}"]
    assert not (tmp_path / "rows.db").exists()


def test_no_job_runs_where_gcp_storage_emulator_pretends(
    plan: Callable[[str, str], job.JobSpec],
    gcp_storage_emulator: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", gcp_storage_emulator)
    root = f"gs://{gcs_bucket(gcp_storage_emulator)}/root"
    with pytest.raises(PreconditionsIgnored, match="a create over an object"):
        job.prepare(plan(root, f"sqlite:///{tmp_path}/rows.db"))
    assert not (tmp_path / "rows.db").exists()


@pytest.fixture
def cloud_root(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], str]:
    def root(kind: str) -> str:
        if kind == "gs":
            endpoint = request.getfixturevalue("fake_gcs")
            monkeypatch.setenv("STORAGE_EMULATOR_HOST", endpoint)
            return f"gs://{gcs_bucket(endpoint)}/root"
        endpoint = request.getfixturevalue("azurite")
        connection = servers.azurite_connection(endpoint)
        monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", connection)
        return f"az://{azure_container(endpoint).container_name}/root"

    return root


@pytest.mark.parametrize("kind", ["gs", "az"])
def test_other_clouds_pass(cloud_root: Callable[[str], str], kind: str) -> None:
    store = open_store(cloud_root(kind))
    check(store)
    assert store.get(keys.PROBE_KEY) == FIRST
    memories._seen.clear()
    check(store, Memory({"AWS_PROFILE": "somebody else's"}))
    store.close()


def test_a_job_asks_once_for_root_and_table(
    plan: Callable[[str, str], job.JobSpec],
    ministack: str,
    table_name: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bucket = servers.make_bucket(ministack, versioned=True)
    with Proxy(ministack) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.url)
        open_manifest(f"dynamodb://{table_name}").ensure()
        spec = plan(f"s3://{bucket}/root", f"dynamodb://{table_name}")
        proxy.clear()
        job.prepare(spec)
        # PUT, refused PUT, refused If-Match, GET; two inserts and a change, and one look
        # whether the table is there.
        assert len(proxy.requests) == 4 + 3 + 1
        assert all("DELETE" not in request.method for request in proxy.requests)
        proxy.clear()
        job.prepare(spec)
        assert proxy.mutations == []


def test_a_job_gets_past_lost_replies(
    plan: Callable[[str, str], job.JobSpec],
    ministack: str,
    table_name: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bucket = servers.make_bucket(ministack, versioned=True)
    with Proxy(ministack, seeded(0.5, 3, [Fault.RESET, Fault.ANSWER_503])) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.url)
        job.prepare(plan(f"s3://{bucket}/root", f"dynamodb://{table_name}"))
    client = servers.aws_client("s3", ministack)
    assert len(client.list_object_versions(Bucket=bucket)["Versions"]) == 1

"""The verbs of preflight alone: they delete exact versions of its own keys, and nothing else."""

import ast
from collections.abc import Callable
from pathlib import Path

import pytest

from scenemosaic import keys
from scenemosaic.errors import InputError
from scenemosaic.manifests.port import Manifest, ProbeRows
from scenemosaic.preflight.rows import probe_row
from scenemosaic.stores import open_store
from scenemosaic.stores.port import IfAbsent, Probing, Store, Version
from tests import servers
from tests.stores.cloud_doors import azure_container, gcs_bucket
from tests.stores.conformance import body, create
from tests.structure.source import modules

TOKEN = "0123456789abcdef" * 2
OWN = keys.probe_prefix(TOKEN) + "probe-0001"
FOREIGN = [
    keys.PROBE_KEY,
    "preflight/" + TOKEN,
    f"preflight/{TOKEN}/a/b",
    f"preflight/{TOKEN[:-1]}/probe",
    f"preflight/{TOKEN.upper()}/probe",
    f"tiles/{TOKEN}/0000_0000.tif",
    f"mosaics/{TOKEN}/item.json",
    f"x/preflight/{TOKEN}/probe",
    f"preflight/{TOKEN}/probe\n",
    f"preflight/{TOKEN}/../probe",
]


@pytest.fixture(params=["local", "s3", "s3-versioned", "gs", "az"])
def store(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    if request.param == "local":
        return open_store(str(tmp_path / "root"))
    if request.param == "gs":
        endpoint = request.getfixturevalue("fake_gcs")
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", endpoint)
        return open_store(f"gs://{gcs_bucket(endpoint)}/p")
    if request.param == "az":
        connection = servers.azurite_connection(request.getfixturevalue("azurite"))
        monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", connection)
        container = azure_container(request.getfixturevalue("azurite"))
        return open_store(f"az://{container.container_name}/p")
    endpoint = request.getfixturevalue("ministack")
    monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
    bucket = servers.make_bucket(endpoint, versioned=request.param == "s3-versioned")
    return open_store(f"s3://{bucket}/p")


def test_only_own_keys_are_deleted(store: Store) -> None:
    assert isinstance(store, Probing)
    kept = [key for key in FOREIGN if key.isprintable() and ".." not in key]
    kept = [key for key in kept if not key.startswith(f"preflight/{TOKEN}/") and key != FOREIGN[1]]
    for key in kept:
        create(store, b"stays", key)
    for key in FOREIGN:
        with pytest.raises(InputError, match="nothing else is ever deleted"):
            store.probes().delete(key)
    create(store, b"goes", OWN)
    store.probes().delete(OWN)
    assert sorted(info.key for info in store.list("")) == sorted(kept)
    store.probes().delete(OWN)  # nothing there is no error


def test_a_folder_is_left_as_it_was(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "root"))
    assert isinstance(store, Probing)
    for name in ("a", "b"):
        create(store, b"goes", keys.probe_prefix(TOKEN) + name)
    other = keys.probe_prefix("f" * 32) + "a"
    create(store, b"another preflight's", other)
    for name in ("a", "b"):
        store.probes().delete(keys.probe_prefix(TOKEN) + name)
    assert [version.key for version in store.probes().versions("preflight/")] == [other]
    assert not (tmp_path / "root" / "preflight" / TOKEN).exists()
    store.probes().delete(other)
    assert not (tmp_path / "root" / "preflight").exists()
    assert not list((tmp_path / "root" / ".scenemosaic" / "meta").iterdir())
    create(store, b"again", OWN)
    assert store.put(OWN, body(b"x"), IfAbsent()).info is None


def test_versions_and_markers_of_a_versioned_bucket(
    s3_store: Callable[[bool], Store],
) -> None:
    store = s3_store(True)
    assert isinstance(store, Probing)
    probes = store.probes()
    first = create(store, b"first", OWN)
    probes.delete(OWN)
    assert store.head(OWN) is None
    found = set(probes.versions(OWN))
    (marker,) = (one for one in found if one.marker)
    assert found == {Version(OWN, first.version_id), marker}
    probes.delete(OWN, marker.version_id)
    now = store.head(OWN)
    assert now is not None
    assert now.version_id == first.version_id
    probes.delete(OWN, first.version_id)
    assert list(probes.versions("")) == []


def test_versions_come_in_pages(s3_store: Callable[[bool], Store]) -> None:
    store = s3_store(True)
    assert isinstance(store, Probing)
    requests = store._requests  # type: ignore[attr-defined]
    sent = requests.send

    def in_pages_of_two(operation: str, *arguments: object, **parameters: object) -> object:
        return sent(operation, *arguments, MaxKeys=2, **parameters)

    names = [keys.probe_prefix(TOKEN) + f"k{number}" for number in range(5)]
    for name in names:
        create(store, b"x", name)
    probes = store.probes()
    probes._requests = type("Paged", (), {"send": staticmethod(in_pages_of_two)})()  # type: ignore[attr-defined]
    assert [version.key for version in probes.versions("preflight/")] == names


@pytest.mark.parametrize("kind", ["sqlite", "dynamodb"])
def test_only_own_rows_are_deleted(kind: str, request: pytest.FixtureRequest) -> None:
    name = {"sqlite": "sqlite_rows", "dynamodb": "dynamo_rows"}[kind]
    manifest: Manifest = request.getfixturevalue(name)
    assert isinstance(manifest, ProbeRows)
    manifest.ensure()
    own = keys.probe_partition(TOKEN)
    job_rows = keys.partition(TOKEN, "s3://bucket")
    for partition in (own, job_rows, keys.PROBE_PARTITION):
        manifest.insert(probe_row(partition, "0000_0000", "mark", ""))
    for partition in (job_rows, keys.PROBE_PARTITION, "", f"{own}#1", f"claims:{own}"):
        with pytest.raises(InputError, match="no others are ever deleted"):
            manifest.delete_probe(partition, "0000_0000")
    manifest.delete_probe(own, "0000_0000")
    manifest.delete_probe(own, "0000_0000")
    assert manifest.get(own, "0000_0000") is None
    assert manifest.get(job_rows, "0000_0000") is not None
    assert manifest.get(keys.PROBE_PARTITION, "0000_0000") is not None


def test_nobody_else_calls_them() -> None:
    verbs = ("probes", "delete_probe", "put_without_condition")
    sources = list(modules("scenemosaic", "tasks", "flows", "blocks", "deployments"))
    callers = {
        source.name
        for source in sources
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Attribute)
        and node.attr in verbs
        and not only_lists(source.tree, node)
    }
    assert callers == {
        "scenemosaic.preflight.cleanup",
        "scenemosaic.preflight.policy",
        "scenemosaic.preflight.versions",
    }


def only_lists(tree: ast.AST, node: ast.Attribute) -> bool:
    """Whether a node is the ``probes`` of ``….probes().versions``, which changes nothing."""
    return any(
        isinstance(outer, ast.Attribute)
        and outer.attr == "versions"
        and isinstance(outer.value, ast.Call)
        and outer.value.func is node
        for outer in ast.walk(tree)
    )

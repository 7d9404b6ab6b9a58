"""The suite against azurite: as it is, and with copies inside the store."""

import sys
from collections.abc import Callable, Iterator

import pytest

from scenemosaic.errors import InputError, PermanentStoreError, TransientStoreError
from scenemosaic.stores import open_store
from scenemosaic.stores.port import Answer, IfAbsent, IfMatch, Store
from tests import servers
from tests.stores import conformance
from tests.stores.azure_front import AzureFront
from tests.stores.cloud_doors import AzureDoor, azure_container
from tests.stores.conformance import KEY, MOSAIC, body, compose, create, large, written
from tests.stores.doors import Harness
from tests.stores.patient import Patient

PREFIX = "a prefix/ü+%"

Make = Callable[[str], Harness]


@pytest.fixture
def make(azurite: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    """``make(endpoint)``: an adapter with an empty root; the door is azurite's own."""
    opened: list[Store] = []

    def harness(endpoint: str) -> Harness:
        container = azure_container(azurite)
        monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", servers.azurite_connection(endpoint))
        store = open_store(f"az://{container.container_name}/{PREFIX}")
        opened.append(store)
        return Harness(Patient(store), AzureDoor(container, f"{PREFIX}/"))

    yield harness
    for store in opened:
        store.close()


@pytest.fixture
def front(azurite: str) -> Iterator[AzureFront]:
    front = AzureFront(azurite)
    with front.running():
        yield front


def every_write_has_an_etag_of_its_own(h: Harness) -> None:
    """What the suite asks of a store whose ETag may be a content hash, asked more strictly."""
    first = create(h.store, b"x")
    second = written(h.store.put(KEY, body(b"y"), IfMatch(first.etag)))
    third = written(h.store.put(KEY, body(b"x"), IfMatch(second.etag)))
    assert len({info.etag for info in (first, second, third)}) == 3
    assert h.store.put(KEY, body(b"z"), IfMatch(first.etag)).answer is Answer.REFUSED


# An unversioned container can tell a return to old content as well.
CHECKS = [
    every_write_has_an_etag_of_its_own,
    *(
        check
        for check in (*conformance.CONDITIONS, *conformance.OTHERS)
        if check is not conformance.tells_a_return_to_old_content
    ),
]
COMPOSING = [check for check in CHECKS if "compos" in check.__name__]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_conforms(make: Make, azurite: str, check: conformance.Check) -> None:
    check(make(azurite))


@pytest.mark.parametrize("check", COMPOSING, ids=lambda check: check.__name__)
def test_conforms_with_copies_inside_the_store(
    make: Make, front: AzureFront, check: conformance.Check
) -> None:
    check(make(front.url))


def test_runs_are_copied_inside_the_store(make: Make, front: AzureFront) -> None:
    h = make(front.url)
    segments, expected = large(h)
    written(compose(h.store, segments))
    assert h.door.read(MOSAIC) == expected
    # 6 bytes and the head of the first run are gathered, as are the last 100 bytes.
    assert len(front.copied) >= 2
    assert sum(_length(copied) for copied in front.copied) > 15 << 20


def _length(bytes_range: str) -> int:
    first, last = bytes_range.removeprefix("bytes=").split("-")
    return int(last) - int(first) + 1


def test_what_cannot_be_copied_is_streamed_and_said_once(
    make: Make, front: AzureFront, caplog: pytest.LogCaptureFixture
) -> None:
    front.firewall = True
    h = make(front.url)
    segments, expected = large(h)
    written(compose(h.store, segments))
    assert h.door.read(MOSAIC) == expected
    assert front.copied == []
    assert "the bytes are streamed" in caplog.text
    assert "sig=" not in caplog.text


def test_a_tile_of_any_size_is_one_request(make: Make, azurite: str) -> None:
    h = make(azurite)
    assert isinstance(h.door, AzureDoor)
    # The SDK's own bound for cutting into blocks is 64 MiB.
    data = bytes(65 << 20)
    create(h.store, data)
    blob = h.door.container.get_blob_client(f"{PREFIX}/{KEY}")
    assert blob.get_block_list("all") == ([], [])
    assert blob.get_blob_properties().size == len(data)


@pytest.mark.parametrize("etag", ["*", "", '"*"', '"1"', "0x1"])
def test_what_is_nobodys_etag_matches_nothing(make: Make, azurite: str, etag: str) -> None:
    h = make(azurite)
    assert h.store.put(KEY, body(b"data"), IfMatch(etag)).answer is Answer.GONE
    assert h.door.keys() == []
    create(h.store, b"first")
    assert h.store.put(KEY, body(b"data"), IfMatch(etag)).answer is Answer.REFUSED
    assert h.door.read(KEY) == b"first"


def test_a_lease_is_no_refusal(make: Make, azurite: str) -> None:
    h = make(azurite)
    assert isinstance(h.door, AzureDoor)
    info = create(h.store, b"first")
    h.door.container.get_blob_client(f"{PREFIX}/{KEY}").acquire_lease()
    assert h.store.put(KEY, body(b"second"), IfAbsent()).answer is Answer.REFUSED
    with pytest.raises(PermanentStoreError, match=r"LeaseIdMissing.*release it"):
        h.store.put(KEY, body(b"second"), IfMatch(info.etag))


def test_no_such_container_is_permanent(azurite: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", servers.azurite_connection(azurite))
    store = open_store("az://no-such-container/p")
    with pytest.raises(PermanentStoreError, match=r"ContainerNotFound.*make the container"):
        store.put(KEY, body(b"x"), IfAbsent())
    for call in (store.head, store.get, lambda key: list(store.list(key))):
        with pytest.raises(PermanentStoreError, match="ContainerNotFound"):
            call(KEY)


def test_a_wrong_key_is_permanent_and_nothing_of_it_is_told(
    azurite: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = servers.azurite_connection(azurite).replace("Eby8", "Eby9")
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", wrong)
    with pytest.raises(PermanentStoreError, match=r"403.*connection string") as caught:
        open_store("az://some-container/p").put(KEY, body(b"x"), IfAbsent())
    assert "Eby9" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_no_credentials_are_permanent() -> None:
    with pytest.raises(PermanentStoreError, match="set AZURE_STORAGE_CONNECTION_STRING"):
        open_store("az://some-container/p")


@pytest.mark.parametrize("said", ["AccountName=a;AccountKey=s3cr3t", "s3cr3t", "AccountKey="])
def test_an_unusable_connection_string_is_permanent_and_not_quoted(
    said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", said)
    with pytest.raises(PermanentStoreError) as caught:
        open_store("az://some-container/p").head(KEY)
    assert "s3cr3t" not in str(caught.value)


def test_an_account_by_name_takes_gdals_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT", "someaccount")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(PermanentStoreError, match=r"AZURE_STORAGE_ACCESS_KEY.*azure-identity"):
        open_store("az://some-container/p")
    monkeypatch.setenv("AZURE_STORAGE_ACCESS_KEY", servers.AZURITE_KEY)
    assert open_store("az://some-container/p").uri == "az://some-container/p"


def test_a_server_that_is_down_is_transient(monkeypatch: pytest.MonkeyPatch) -> None:
    endpoint = f"http://127.0.0.1:{servers.free_port()}"
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", servers.azurite_connection(endpoint))
    with pytest.raises(TransientStoreError, match=KEY):
        open_store("az://some-container/p").head(KEY)


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    ours = [name for name in sys.modules if name.startswith("scenemosaic.stores.azure")]
    for name in ours:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delattr("scenemosaic.stores.azure", raising=False)
    monkeypatch.setitem(sys.modules, "azure.storage.blob", None)
    with pytest.raises(InputError, match=r"pip install 'scenemosaic\[azure\]'"):
        open_store("az://some-container/p")

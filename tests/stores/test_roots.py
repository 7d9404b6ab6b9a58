"""Roots and manifest URLs: one spelling each, and clear refusals."""

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from scenemosaic import keys
from scenemosaic.discovery.prefix import below
from scenemosaic.errors import InputError, PermanentStoreError
from scenemosaic.manifests.sql import SqlManifest
from scenemosaic.roots import (
    Root,
    check_folder,
    check_there,
    default_manifest,
    has_outputs,
    parse_manifest,
    parse_root,
)
from scenemosaic.stores import open_store


def test_every_spelling_of_a_folder_has_one_uri(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "link").symlink_to(tmp_path / "a b", target_is_directory=True)
    wanted = (tmp_path / "a b").as_uri()
    spellings = ["a b", "./a b/", "x/../a b", "link", f"{tmp_path}/a b//", wanted, f"{wanted}/"]
    assert {parse_root(text).uri for text in spellings} == {wanted}
    assert "%20" in wanted
    assert parse_root(wanted) == parse_root("a b")


@pytest.mark.parametrize("scheme", ["s3", "gs", "az"])
def test_a_prefix_leaves_room_for_the_longest_key(scheme: str) -> None:
    longest = max(
        keys.revision_key("0" * 32, 10**9, "preview.png"),
        keys.top_box_key("0" * 32, 10**6, 10**6, "0" * 64),
        f"audit/{keys.ledger_log('x' * 64)}/{'9' * 18}.jsonl",
        key=len,
    )
    prefix = parse_root(f"{scheme}://bucket-1/{'é' * 432}").prefix
    assert len(f"{prefix}/{longest}".encode()) <= 1024
    with pytest.raises(InputError, match="at most 864 bytes"):
        parse_root(f"{scheme}://bucket-1/{'é' * 433}")


def test_a_path_that_no_file_system_takes_is_refused(tmp_path: Path) -> None:
    fits = tmp_path / ("é" * 127)
    open_store(str(fits)).head("jobs/x")
    for path in (f"{tmp_path}/{'é' * 128}", f"{tmp_path}/{'x' * 200}" * 30):
        with pytest.raises(InputError, match="a path has at most 3840 bytes, and each name in"):
            parse_root(path)
        with pytest.raises(InputError, match="a path has at most"):
            parse_manifest(f"sqlite:///{path}/m.db")


@pytest.mark.parametrize("scheme", ["s3", "gs", "az"])
def test_a_bucket_and_its_prefix(scheme: str) -> None:
    assert parse_root(f"{scheme}://bucket-1").uri == f"{scheme}://bucket-1"
    assert parse_root(f"{scheme}://bucket-1/").uri == f"{scheme}://bucket-1"
    root = parse_root(f"{scheme.upper()}://bucket-1/a/b%20 ü/")
    assert (root.scheme, root.bucket, root.prefix) == (scheme, "bucket-1", "a/b%20 ü")
    assert root.uri == f"{scheme}://bucket-1/a/b%20 ü"
    assert parse_root(root.uri) == root


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a\nb",
        "ftp://host/x",
        "http://bucket/x",
        "file://host/path",
        "file:///path?x=1",
        "file:///path#x",
        "s3://",
        "s3:///prefix",
        "s3://Bucket/x",
        "s3://bucket:80/x",
        "s3://bucket/a/../b",
        "s3://bucket/a//b",
        "s3://bucket/a?versionId=1",
        "s3://bucket/a?",
        "s3://bucket/a#b",
        "gs://bucket?x",
    ],
)
def test_what_is_no_root_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        parse_root(text)


@pytest.mark.parametrize(
    "name",
    ["UPPER", "a", "my_container", "my--container", "-abc", "abc-", "a" * 64, "$other",
     "account.blob.core.windows.net", ""],
)  # fmt: skip
def test_what_is_no_container_is_told_what_one_is(name: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_root(f"az://{name}/x")
    said = str(caught.value)
    assert said.startswith(
        f"'az://{name}/x': '{name}' is not a container's name, which has 3 to 63"
    )
    assert "the account is AZURE_STORAGE_ACCOUNT's" in said
    assert "bucket's name" not in said


@pytest.mark.parametrize("name", ["$root", "$web", "abc", "a-1-b", "9" * 63])
def test_what_is_a_container(name: str) -> None:
    assert parse_root(f"az://{name}/x").bucket == name


@pytest.mark.parametrize("query", ["?X-Amz-Signature=s3cr3t", "#s3cr3t"])
def test_a_refusal_never_repeats_a_secret(query: str) -> None:
    for text in (f"s3://bucket/x{query}", "s3://user:s3cr3t@bucket/x", "file://u:s3cr3t@h/x"):
        with pytest.raises(InputError) as caught:
            parse_root(text)
        assert "s3cr3t" not in str(caught.value)


def test_default_manifests() -> None:
    assert default_manifest(parse_root("/data/a b")) == "sqlite:////data/a b/manifest.db"
    assert default_manifest(parse_root("s3://bucket/x")) == "dynamodb://scenemosaic-manifest"
    for text in ("gs://bucket/x", "az://container/x"):
        with pytest.raises(InputError, match="--manifest"):
            default_manifest(parse_root(text))
    with pytest.raises(InputError, match="--manifest"):
        default_manifest(parse_root("/data/what?"))


def test_manifest_urls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert parse_manifest("sqlite:///file.db").url == f"sqlite:///{tmp_path}/file.db"
    assert parse_manifest(f"sqlite:///{tmp_path}/file.db").url == f"sqlite:///{tmp_path}/file.db"
    assert parse_manifest("sqlite://").url == "sqlite://"
    table = parse_manifest("dynamodb://scenes?region=eu-central-1")
    assert (table.kind, table.table, table.region) == ("dynamodb", "scenes", "eu-central-1")
    assert parse_manifest("dynamodb://scenes").region is None
    postgres = parse_manifest("postgresql+psycopg://user:s3cr3t@host/db")
    assert postgres.kind == "sql"
    assert "s3cr3t" not in repr(postgres)
    assert "s3cr3t" in postgres.url


@pytest.mark.parametrize(
    "text",
    [
        "",
        "file.db",
        "mysql://u:s3cr3t@h/d",
        "sqlite:file.db",
        "dynamodb://",
        "dynamodb://t/x",
        "dynamodb://a b",
        "dynamodb://table?zone=1",
        "dynamodb://table?region=",
        "dynamodb://table?region=a b",
        "dynamodb://key:s3cr3t@table",
    ],
)
def test_what_is_no_manifest_is_refused(text: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_manifest(text)
    assert "s3cr3t" not in str(caught.value)


def test_a_folder_that_may_not_be_looked_at_is_told_as_such(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.stat

    def refusing(path: Any, **options: Any) -> os.stat_result:
        if isinstance(path, Path | str) and f"{tmp_path}/locked/" in str(path):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return real(path, **options)

    monkeypatch.setattr(os, "stat", refusing)  # root may look everywhere
    root = parse_root(f"{tmp_path}/locked/root")
    manifest = SqlManifest(f"sqlite:///{tmp_path}/locked/m.db")
    for look in (
        lambda: check_there(root.prefix),
        lambda: check_folder(root),
        lambda: has_outputs(root),
        lambda: list(below(root.prefix)),
        manifest.ready,
    ):
        with pytest.raises(PermanentStoreError, match=r"locked.*Permission denied; check the"):
            look()


def test_opening_a_store_writes_nothing(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "root"))
    assert store.head("jobs/x/plan.json") is None
    assert list(store.list("")) == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["a%41", "what?"])
def test_a_folder_that_a_url_would_spell_otherwise_needs_a_manifest(name: str) -> None:
    with pytest.raises(InputError, match="give --manifest"):
        default_manifest(Root("file", "", f"/data/{name}"))

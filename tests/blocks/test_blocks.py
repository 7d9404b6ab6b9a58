"""Blocks: what they refuse, what they yield, and that no secret leaves them."""

import os
import pickle
import subprocess
import sys
from typing import Any

import boto3
import pytest
from prefect.blocks.core import Block
from prefect.blocks.system import Secret
from prefect_aws import AwsCredentials
from pydantic import ValidationError

from blocks import MosaicRecipe, SceneStore, TileManifest
from scenemosaic.access import Access, credentials_of
from scenemosaic.errors import InputError, PermanentStoreError
from scenemosaic.places import ManifestPlace, Place, StorePlace
from tasks import credentials as _resolvers  # noqa: F401  # what resolves references
from tests import servers
from tests.conftest import REPOSITORY

SECRET = "a-secret-that-must-not-show"
BLOCKS: tuple[type[Block], ...] = (SceneStore, TileManifest, MosaicRecipe)

WRONG_STORES: list[tuple[dict[str, Any], str]] = [
    ({"root": "ftp://host/x"}, "not a root"),
    ({"root": "/data", "endpoint": "http://127.0.0.1:9"}, "no endpoint"),
    ({"root": "/data", "storage_class": "STANDARD"}, "no storage_class"),
    ({"root": "gs://bucket/p", "tags": {"a": "b"}}, "no tags"),
    ({"root": "gs://bucket/p"}, "--manifest"),
    ({"root": "s3://bucket/p", "billing_project": "p"}, "no billing_project"),
    ({"root": "s3://bucket/p", "endpoint": f"http://u:{SECRET}@h"}, "without user"),
    ({"root": "gs://bucket/p", "aws_credentials": AwsCredentials()}, "no aws_credentials"),
    ({"root": "s3://bucket/p", "nonsense": 1}, "nonsense"),
]
WRONG_MANIFESTS: list[tuple[dict[str, Any], str]] = [
    ({"url": "mysql://h/d"}, "a manifest is"),
    ({"url": f"postgresql+psycopg://u:{SECRET}@h/d"}, "Secret block"),
    ({"url": "sqlite:////x.db", "endpoint": "http://127.0.0.1:9"}, "DynamoDB's"),
    ({"url": "sqlite:////x.db", "password": Secret(value=SECRET)}, "only PostgreSQL"),
]


@pytest.mark.parametrize(("fields", "reason"), WRONG_STORES)
def test_a_store_that_cannot_be_is_refused(fields: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValidationError, match=reason) as caught:
        SceneStore(**fields)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(("fields", "reason"), WRONG_MANIFESTS)
def test_a_manifest_that_cannot_be_is_refused(fields: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValidationError, match=reason) as caught:
        TileManifest(**fields)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("level", [0, 23])
def test_a_level_that_the_codec_has_not_is_refused(level: int) -> None:
    with pytest.raises(ValidationError, match="level"):
        MosaicRecipe(compress="zstd", level=level)


@pytest.mark.parametrize("block", BLOCKS)
def test_every_field_is_described(block: type[Block]) -> None:
    for name, field in block.model_fields.items():
        assert field.title, name
        assert field.description or field.examples, name


def test_a_recipe_yields_the_options_of_a_plan() -> None:
    recipe = MosaicRecipe(compress="zstd", level=3, window=1024)
    options = recipe.fields().options("2024-05-01")
    assert (options.compress, options.level, options.window) == ("zstd", 3, 1024)
    assert options.datetime == "2024-05-01"
    assert MosaicRecipe().fields().options().window == "auto"


def test_a_root_brings_its_default_manifest() -> None:
    assert SceneStore(root="/data/out").spec() == Place(
        StorePlace("file:///data/out"), ManifestPlace("sqlite:////data/out/manifest.db")
    )


def test_credentials_that_were_never_saved_do_not_travel() -> None:
    store = SceneStore(root="s3://bucket/p", aws_credentials=AwsCredentials())
    with pytest.raises(InputError, match="save the aws-credentials block"):
        store.spec()


@pytest.mark.usefixtures("harness")
def test_a_saved_store_is_loaded_by_name_and_its_spec_holds_no_secret() -> None:
    AwsCredentials(
        aws_access_key_id="AKIDEXAMPLE", aws_secret_access_key=SECRET, region_name="eu-central-1"
    ).save("archive")
    SceneStore(
        root="s3://bucket/p",
        aws_credentials=AwsCredentials.load("archive"),
        endpoint="http://127.0.0.1:9",
        encryption_key="key-1",
        tags={"team": "a"},
    ).save("archive")
    place = SceneStore.load("archive").spec()
    assert place.store.access == Access(
        credentials="aws-credentials/archive",
        endpoint="http://127.0.0.1:9",
        encryption_key="key-1",
        tags=(("team", "a"),),
    )
    assert place.manifest.access == Access(credentials="aws-credentials/archive")
    assert SECRET.encode() not in pickle.dumps(place)
    session = credentials_of(place.store.access, boto3.Session)
    assert session is not None
    assert session.get_credentials().secret_key == SECRET


@pytest.mark.usefixtures("harness")
def test_a_manifests_password_is_a_secret_of_its_own() -> None:
    Secret(value=SECRET).save("rows")
    rows = TileManifest(url="postgresql+psycopg://u@h/d", password=Secret.load("rows"))
    rows.save("rows")
    place = TileManifest.load("rows").spec()
    assert SECRET not in repr(place)
    assert SECRET.encode() not in pickle.dumps(place)
    assert credentials_of(place.access, str) == SECRET


@pytest.mark.usefixtures("harness")
def test_credentials_that_are_gone_are_an_error_of_their_own() -> None:
    with pytest.raises(InputError, match="aws-credentials/nobody"):
        credentials_of(Access(credentials="aws-credentials/nobody"), boto3.Session)
    with pytest.raises(PermanentStoreError, match="nothing here can resolve"):
        credentials_of(Access(credentials="unheard-of/x"), boto3.Session)


@pytest.mark.slow
def test_one_command_registers_them_all(prefect_server: str) -> None:
    done = subprocess.run(
        [servers.script("prefect"), "block", "register", "-m", "blocks"],
        env={**os.environ, "PREFECT_API_URL": prefect_server, "PYTHONPATH": servers.PYTHONPATH},
        capture_output=True,
        text=True,
        check=True,
    )
    for block in BLOCKS:
        assert block.get_block_type_name() in done.stdout


def test_a_plain_install_has_the_blocks_and_serves_every_flow() -> None:
    """Without the packages of other clouds, which the tests' own environment has."""
    code = (
        "import sys\n"
        "for name in ('prefect_gcp', 'prefect_azure'): sys.modules[name] = None\n"
        "from blocks import SceneStore\n"
        "from flows.server.serving import deployments, flow_of\n"
        "from flows.server.deployment_table import TABLE\n"
        "assert SceneStore(root='s3://bucket/p').gcp_credentials is None\n"
        "assert len([flow_of(entry) for entry in TABLE]) == len(TABLE)\n"
        "try: SceneStore(root='s3://bucket/p', gcp_credentials={'project': 'p'})\n"
        "except ValueError: print('refused')\n"
    )
    told = subprocess.run(
        [sys.executable, "-c", code], cwd=REPOSITORY, capture_output=True, text=True, timeout=120
    )
    assert (told.returncode, told.stdout) == (0, "refused\n"), told.stderr

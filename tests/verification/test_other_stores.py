"""Cloud Storage and Azure: a sound job, and a tile that is gone."""

from pathlib import Path

import pytest

from tests import servers
from tests.jobs.places import Place
from tests.stores.cloud_doors import azure_container, gcs_bucket
from tests.verification.conftest import Finish
from tests.verification.damage import NAME, Damage


@pytest.fixture(params=["gs", "az"])
def remote(
    request: pytest.FixtureRequest, finish: Finish, small_scene: Path, tmp_path: Path
) -> tuple[Damage, str]:
    """A finished job, and its kind of store."""
    manifest = f"sqlite:///{tmp_path}/manifest.db"
    if request.param == "gs":
        endpoint = request.getfixturevalue("fake_gcs")
        env = {"STORAGE_EMULATOR_HOST": endpoint}
        place = Place(f"gs://{gcs_bucket(endpoint)}/root", manifest, env)
    else:
        endpoint = request.getfixturevalue("azurite")
        connection = servers.azurite_connection(endpoint)
        env = {"AZURE_STORAGE_CONNECTION_STRING": connection}
        place = Place(f"az://{azure_container(endpoint).container_name}/root", manifest, env)
    return finish(lambda: place, small_scene), request.param


def test_a_sound_job_and_a_tile_that_is_gone(remote: tuple[Damage, str]) -> None:
    damage, kind = remote
    assert damage.found(deep=True) == set()
    _delete(damage, kind)
    assert damage.found() == {(NAME, "missing-object")}


def _delete(damage: Damage, kind: str) -> None:
    endpoint, bucket = damage.place.env, damage.place.root.split("/")[2]
    if kind == "gs":
        from google.auth.credentials import AnonymousCredentials
        from google.cloud.storage import Client

        client = Client("test", AnonymousCredentials())  # type: ignore[no-untyped-call]
        client.bucket(bucket).blob(f"root/{damage.tile()}").delete()
        return
    from azure.storage.blob import BlobServiceClient

    service = BlobServiceClient.from_connection_string(endpoint["AZURE_STORAGE_CONNECTION_STRING"])
    service.get_blob_client(bucket, f"root/{damage.tile()}").delete_blob()

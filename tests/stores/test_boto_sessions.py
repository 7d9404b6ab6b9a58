"""boto3's sessions: each of its own, and AWS's descriptions of its services read once for all."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import boto3.session
import botocore.session
import pytest
from botocore.config import Config
from botocore.exceptions import DataNotFoundError
from botocore.loaders import JSONFileLoader, create_loader

from scenemosaic.access import Access, register
from scenemosaic.errors import PermanentStoreError
from scenemosaic.manifests.dynamodb_client import open_client
from scenemosaic.waiting import boto_sessions
from scenemosaic.waiting.boto_sessions import boto_client, boto_session
from scenemosaic.waiting.deadlines import Deadlines


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "one")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.delenv("AWS_PROFILE", raising=False)


def test_what_a_client_has_read_is_not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    boto_session().client("s3")
    read: list[str] = []
    load = JSONFileLoader.load_file

    def noted(self: JSONFileLoader, path: str) -> Any:
        read.append(path)
        return load(self, path)

    monkeypatch.setattr(JSONFileLoader, "load_file", noted)
    # As it is outside the tests (tests/quick.py).
    monkeypatch.setattr(botocore.session, "create_loader", create_loader)
    boto_session().client("s3")
    assert read == []
    boto3.session.Session().client("s3")
    assert read != []


def test_no_service_is_looked_into_but_the_one_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[str] = []
    exists = JSONFileLoader.exists

    def noted(self: JSONFileLoader, path: str) -> bool:
        looked.append(path)
        return exists(self, path)

    boto_sessions._loader.cache_clear()
    monkeypatch.setattr(JSONFileLoader, "exists", noted)
    session: Any = boto_session()
    session.client("s3")
    session.client("dynamodb")
    assert 0 < len(looked) < 100
    with pytest.raises(DataNotFoundError, match="none-of-these"):
        session.client("none-of-these")


def test_each_session_has_the_environment_of_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    first = boto_session()
    before, region = first.get_credentials(), first.region_name
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "two")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    second = boto_session()
    after = second.get_credentials()
    assert before is not None
    assert after is not None
    assert (before.access_key, after.access_key) == ("one", "two")
    assert (region, second.region_name) == ("us-east-1", "eu-west-1")
    assert boto_session(Access(region="eu-north-1")).region_name == "eu-north-1"


def test_forty_sessions_search_as_few_folders_as_one() -> None:
    def searched() -> list[str]:
        component: Any = boto_session()._session.get_component("data_loader")
        return list(component.search_paths)

    once = searched()
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: boto_session(), range(40)))
    assert searched() == once


def test_an_endpoint_without_a_scheme_is_named_and_not_repeated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    access = Access(region="us-east-1")
    with pytest.raises(PermanentStoreError, match="s3://bucket: no client can be made") as refused:
        boto_client("s3", "s3://bucket", Config(), access, endpoint="key:S3CRET@host:9000")
    assert "S3CRET" not in str(refused.value)
    monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", "key:S3CRET@host:9000")
    with pytest.raises(PermanentStoreError, match="manifest in DynamoDB: no client") as refused:
        open_client("us-east-1", access, Deadlines())
    assert "S3CRET" not in str(refused.value)


def test_a_profile_that_is_not_there_is_for_good(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_PROFILE", "none-such")
    with pytest.raises(PermanentStoreError, match=r"AWS configuration.*none-such"):
        boto_session()


def test_a_named_block_gives_its_own_session() -> None:
    own = boto3.session.Session(region_name="eu-west-3")
    register("test-of-sessions", lambda name: own)
    assert boto_session(Access(credentials="test-of-sessions/any")) is own

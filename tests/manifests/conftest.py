"""One case for each adapter; ``made`` is its manifest with table or schema in place."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from scenemosaic.manifests.port import Manifest
from tests.manifests.support import Case, DynamoCase, MemoryCase, PostgresCase, SqliteCase


@pytest.fixture(params=["sqlite-file", "sqlite-memory", "postgresql", "dynamodb-ministack"])
def case(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    table_name: str,
    monkeypatch: pytest.MonkeyPatch,
) -> Case:
    if request.param == "sqlite-file":
        return SqliteCase(tmp_path)
    if request.param == "sqlite-memory":
        return MemoryCase()
    if request.param == "postgresql":
        return PostgresCase(request.getfixturevalue("postgres_url"))
    endpoint = request.getfixturevalue("ministack")
    monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", endpoint)
    return DynamoCase(endpoint, table_name)


@pytest.fixture
def made(case: Case) -> Iterator[Manifest]:
    manifest = case.open()
    assert manifest.ensure()
    yield manifest
    manifest.close()

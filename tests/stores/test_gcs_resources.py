"""What a server says of an object may be anything: an error of ours names the object."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from scenemosaic.errors import TransientStoreError
from scenemosaic.roots import parse_root
from scenemosaic.stores.gcs import GcsStore
from scenemosaic.stores.gcs_requests import GcsOptions, Reply, Requests
from scenemosaic.stores.gcs_upload import CHUNK_BYTES
from scenemosaic.stores.port import IfAbsent, Literal
from scenemosaic.stores.s3_answers import Verdict
from tests.stores.conformance import KEY, body

Ask = Callable[[GcsStore], object]

RESOURCE = {
    "name": f"p/{KEY}",
    "size": "3",
    "generation": "17",
    "updated": "2024-05-01T10:20:30.123Z",
}
NOT_SAID = [
    *({name: None} for name in ("size", "generation", "updated")),
    {"updated": "yesterday"},
    {"updated": "0001-01-01T00:00:00+23:00"},
    {"updated": 5},
    {"size": "many"},
    {"size": []},
    {"generation": 17},
    {"generation": "abc"},
    {"metadata": "abc"},
]


class Saying(Requests):
    """Answers each request with one resource, or one page with it."""

    def __init__(self, said: Any, headers: dict[str, str]) -> None:
        self._base, self._objects, self.options = "http://h", "/o", GcsOptions()
        self._said, self._answered = said, headers

    def send(self, operation: str, named: str, *_: Any, **__: Any) -> Reply:
        page = {"items": [self._said]} if operation == "ListObjects" else self._said
        return Reply(Verdict.OK, 200, self._answered, json.dumps(page).encode())


def store(said: Any, **headers: str) -> GcsStore:
    return GcsStore(parse_root("gs://bucket/p"), Saying(said, headers))


LONG = [Literal(bytes(CHUNK_BYTES + 1))]
COMPOSE: Ask = lambda s: s.compose(KEY, LONG, IfAbsent(), "image/tiff", {})  # noqa: E731
ASKS: list[Ask] = [
    lambda s: s.head(KEY),
    lambda s: s.put(KEY, body(b"abc"), IfAbsent()),
    COMPOSE,
]
LISTINGS: list[Ask] = [lambda s: list(s.list("")), lambda s: list(s.versions(""))]


def test_what_is_said_as_documented() -> None:
    (found,) = store(RESOURCE).list("")
    info = store(RESOURCE).head(KEY)
    assert found == info
    assert (found.key, found.etag, found.last_modified) == (KEY, "17", "2024-05-01T10:20:30Z")


@pytest.mark.parametrize("ask", ASKS)
@pytest.mark.parametrize("said", NOT_SAID, ids=str)
def test_an_object_that_is_described_otherwise(ask: Ask, said: dict[str, object]) -> None:
    of = {name: value for name, value in (RESOURCE | said).items() if value is not None}
    with pytest.raises(TransientStoreError, match=rf"gs://bucket/p/{KEY}: .*describes no object"):
        ask(store(of, Location="http://h/session"))


@pytest.mark.parametrize("said", [*NOT_SAID, {"name": None}, {"name": 5}, 5], ids=str)
def test_a_listing_of_what_is_described_otherwise(said: Any) -> None:
    of = RESOURCE | said if isinstance(said, dict) else said
    with pytest.raises(TransientStoreError, match=r"gs://bucket/p/: .*describes no object"):
        list(store(of).list(""))


@pytest.mark.parametrize("ask", LISTINGS)
def test_a_listing_of_no_objects(ask: Ask) -> None:
    with pytest.raises(TransientStoreError, match=r"gs://bucket/p/: .*describes no object"):
        ask(store("text"))


@pytest.mark.parametrize("ask", ASKS)
def test_an_answer_that_is_no_json_object(ask: Ask) -> None:
    with pytest.raises(TransientStoreError, match=f"{KEY}: an answer that is no JSON object"):
        ask(store([RESOURCE], Location="http://h/session"))


def test_a_session_without_a_url() -> None:
    with pytest.raises(TransientStoreError, match=f"{KEY}: an upload was started without its URL"):
        COMPOSE(store(RESOURCE))

"""Messages as S3, EventBridge and SNS send them, and what is none."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenemosaic.discovery.notifications import scenes_in
from scenemosaic.errors import InputError


def record(key: str, event: str = "ObjectCreated:Put", **more: str) -> dict[str, Any]:
    return {
        "eventVersion": "2.1",
        "eventSource": "aws:s3",
        "eventName": event,
        "eventTime": "2024-05-01T10:00:00.000Z",
        "s3": {
            "bucket": {"name": "scenes"},
            "object": {"key": key, "size": 1, "eTag": "abc", "sequencer": "0A", **more},
        },
    }


def sources(value: Any) -> list[str]:
    return [one.source for one in scenes_in(json.dumps(value))]


def test_s3_encodes_its_keys() -> None:
    assert sources({"Records": [record("in/a+scene%2B1.tif")]}) == ["s3://scenes/in/a scene+1.tif"]


def test_event_bridge_does_not() -> None:
    event = {
        "source": "aws.s3",
        "detail-type": "Object Created",
        "time": "2024-05-01T10:00:00Z",
        "detail": {"bucket": {"name": "scenes"}, "object": {"key": "a+b.tif", "etag": "e"}},
    }
    (found,) = scenes_in(json.dumps(event))
    assert (found.source, found.version) == ("s3://scenes/a+b.tif", "e")
    assert sources(event | {"detail-type": "Object Deleted"}) == []


def test_sns_wraps_either() -> None:
    inner = json.dumps({"Records": [record("a.tif")]})
    assert sources({"Type": "Notification", "Message": inner}) == ["s3://scenes/a.tif"]


def test_a_scene_is_announced_once_with_its_version() -> None:
    body = json.dumps({"Records": [record("a.tif", versionId="v7"), record("a.tif")]})
    assert [one.source for one in scenes_in(body)] == ["s3://scenes/a.tif"]
    (first,) = scenes_in(json.dumps({"Records": [record("a.tif", versionId="v7")]}))
    assert first.version == "v7"


@pytest.mark.parametrize(
    "value",
    [
        {"Service": "Amazon S3", "Event": "s3:TestEvent", "Bucket": "scenes"},
        {"Records": []},
        {"Records": [record("a.tif", "ObjectRemoved:Delete")]},
        {"Records": [record("notes.txt"), record("in/.hidden.tif")]},
    ],
)
def test_news_of_no_scene(value: dict[str, Any]) -> None:
    assert sources(value) == []


@pytest.mark.parametrize(
    "body",
    [
        "",
        "hello",
        "[]",
        "{}",
        '{"Records": 1}',
        '{"Records": ["x"]}',
        '{"Type": "Notification", "Message": "no json"}',
        json.dumps({"Records": [{**record("a.tif"), "s3": {}}]}),
        json.dumps({"Records": [record("a%0Ab.tif")]}),
        json.dumps({"Records": [{**record("a.tif"), "s3": {"bucket": {"name": "a/../b"}}}]}),
        "x" * (1 << 20) + "x",
    ],
)
def test_what_is_no_message_of_ours_is_refused(body: str) -> None:
    with pytest.raises(InputError, match="the message"):
        scenes_in(body)


def test_a_key_that_nobody_can_read_is_named() -> None:
    with pytest.raises(InputError, match=r"the message names s3://scenes/a\\nb\.tif, .* another"):
        sources({"Records": [record("a%0Ab.tif")]})


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["Records", "s3", "bucket", "object", "name", "key"]), inner
        )
    ),
)


@given(st.text() | json_values.map(json.dumps))
def test_whatever_comes_is_read_or_refused(body: str) -> None:
    try:
        scenes_in(body)
    except InputError:
        return

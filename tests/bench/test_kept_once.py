"""What scale rests on: what a hundred thousand rows share is kept once, and digested in parts."""

import hashlib
import pickle

import pytest

from scenemosaic.canonical import encode
from scenemosaic.manifests.packing import pack, unpack
from scenemosaic.manifests.port import Row
from scenemosaic.publishing import rows_digest
from scenemosaic.tile import level_shape
from tests.flows.test_batches import recipe


def row(window: str) -> Row:
    partition, software = "".join(["job", "@root"]), {"gdal": "3.10", "numpy": "2.4"}
    return Row(
        partition, window, "file:///x", 1, "ab", '"e"', None, b"", (1,), 1, "run", "at", software
    )


def test_rows_read_back_share_what_they_have_in_common() -> None:
    packed = [pack(row(window)) | {"written_by": "".join(["r", "un"])} for window in ("a", "b")]
    one, other = (unpack(columns) for columns in packed)
    assert one == row("a")
    assert one.partition is other.partition
    assert one.written_by is other.written_by
    assert one.software is other.software


def test_levels_of_the_same_size_are_one_shape() -> None:
    assert level_shape(recipe(512), 512, 512) is level_shape(recipe(512), 512, 512)


@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 7])
def test_a_digest_in_parts_is_that_of_the_whole(
    count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows_digest, "_AT_ONCE", 3)
    facts = [(f"{number:04d}_0000", "ab", number, None) for number in range(count)]
    whole = hashlib.sha256(encode([list(fact) for fact in facts])).hexdigest()
    assert rows_digest.facts_digest(reversed(facts)) == whole


def test_a_recipe_that_crosses_a_process_is_the_same() -> None:
    made = recipe(512)
    hash(made)  # which keeps its canonical bytes
    assert pickle.loads(pickle.dumps(made)) == made
    assert hash(pickle.loads(pickle.dumps(made))) == hash(recipe(512))

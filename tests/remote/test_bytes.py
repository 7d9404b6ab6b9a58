"""The bytes of a source by offset: the ones that were asked for, or an error."""

import hashlib
from pathlib import Path
from typing import Any

import pytest

from scenemosaic.errors import (
    InputError,
    PermanentStoreError,
    SourceReadError,
    TransientStoreError,
)
from scenemosaic.planning.item_check import check_facts
from scenemosaic.plans.item_facts import ItemFacts
from scenemosaic.sources.byte_ranges import range_reader
from scenemosaic.sources.pins import pin_source
from tests.plan.web import Site

CHUNK = 64 << 10
DATA = b"".join(hashlib.sha256(bytes([n % 256, n // 256])).digest() for n in range(5000))


@pytest.fixture(params=["http", "s3"])
def source(request: pytest.FixtureRequest, site: Site, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", site.url)
    (site.folder / "bucket" / "long.bin").write_bytes(DATA)
    return "s3://bucket/long.bin" if request.param == "s3" else f"{site.url}/bucket/long.bin"


def behave(site: Site, **more: Any) -> None:
    site.more.clear()
    site.more |= more
    site.apply()


@pytest.mark.parametrize("said", ["bytes {first}-{last}/{total}", "bytes {first}-{last}/*"])
def test_bytes_across_chunks_and_up_to_the_end(site: Site, source: str, said: str) -> None:
    behave(site, range=said)
    read_at = range_reader(source, len(DATA))
    for offset, size in (
        *((0, 4), (CHUNK - 5, 10), (5, CHUNK), (3, 2 * CHUNK), (len(DATA) - 7, 7)),
        *((len(DATA) - 7, CHUNK), (2 * CHUNK, 2 * CHUNK), (len(DATA), 1), (9 * CHUNK, 1)),
    ):
        assert read_at(offset, size) == DATA[offset : offset + size]


@pytest.mark.parametrize(
    "broken",
    [
        {"cut": 1000},
        {"cut": 0},
        {"most": 1000},
        {"range": None},
        {"range": "bytes"},
        {"range": "bytes 4-{last}/{total}"},
        {"range": "bytes {first}-9/{total}"},
        {"range": "bytes {first}-{total}/{total}"},
        {"range": "bytes {last}-{first}/{total}"},
    ],
)
@pytest.mark.parametrize("size", [10, 2 * CHUNK])
def test_other_bytes_than_were_asked_for_are_refused_and_not_kept(
    site: Site, source: str, broken: dict[str, Any], size: int
) -> None:
    read_at = range_reader(source, len(DATA))
    behave(site, **broken)
    with pytest.raises(TransientStoreError, match=r"long\.bin: byte \d+ cannot be read: "):
        read_at(CHUNK - 5, size)
    behave(site)
    assert read_at(CHUNK - 5, size) == DATA[CHUNK - 5 :][:size]


def test_a_range_may_be_answered_in_parts_where_no_total_is_known(site: Site, source: str) -> None:
    behave(site, most=30_000, range="bytes {first}-{last}/*")
    read_at = range_reader(source, len(DATA))
    assert read_at(CHUNK - 5, 10) == DATA[CHUNK - 5 :][:10]
    assert read_at(5, 3 * CHUNK) == DATA[5:]


@pytest.mark.parametrize(("offset", "size"), [(0, 4), (CHUNK - 5, 10), (5, 2 * CHUNK)])
def test_bytes_that_are_there_and_refused_are_not_the_end(
    site: Site, source: str, offset: int, size: int
) -> None:
    behave(site, end=0)  # a 416 for whatever is asked
    refused = r"long\.bin: byte \d+ cannot be read: .* has 160000 bytes"
    with pytest.raises(PermanentStoreError, match=refused):
        range_reader(source, len(DATA))(offset, size)


def test_nothing_is_asked_for_behind_the_end(site: Site, source: str) -> None:
    behave(site, end=0)
    assert range_reader(source, len(DATA))(3 * CHUNK, 10) == b""


def test_a_file_that_became_shorter(tmp_path: Path) -> None:
    (tmp_path / "long.bin").write_bytes(DATA[:-1])
    read_at = range_reader(str(tmp_path / "long.bin"), len(DATA))
    with pytest.raises(SourceReadError, match=r"long\.bin: byte 159999 cannot be read"):
        read_at(len(DATA) - 10, 10)


def test_a_source_without_ranges_is_refused(site: Site, source: str) -> None:
    behave(site, ranges=False)
    with pytest.raises(InputError, match="serves no ranges"):
        range_reader(source, len(DATA))(CHUNK, 10)


def test_a_broken_connection_is_no_wrong_checksum(site: Site, source: str) -> None:
    pin = pin_source(source).pin
    facts = ItemFacts("scene", None, False, "1220" + hashlib.sha256(DATA).hexdigest(), None)
    behave(site, cut=1000)
    with pytest.raises(TransientStoreError, match="cannot be read"):
        check_facts(facts, pin, source)
    behave(site)
    assert check_facts(facts, pin, source) == []


def test_a_file_that_is_read_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from scenemosaic.sources import byte_ranges

    (tmp_path / "long.bin").write_bytes(DATA)
    pread = byte_ranges.os.pread
    monkeypatch.setattr(
        byte_ranges.os, "pread", lambda file, size, offset: pread(file, min(size, 9999), offset)
    )
    read_at = range_reader(str(tmp_path / "long.bin"), len(DATA))
    for offset, size in ((0, len(DATA) + 1), (CHUNK - 5, 10), (len(DATA) - 3, 10)):
        assert read_at(offset, size) == DATA[offset : offset + size]


def test_what_a_file_has_grown_by_is_not_shifted(tmp_path: Path) -> None:
    source = tmp_path / "long.bin"
    source.write_bytes(DATA[:100])
    read_at = range_reader(str(source), 100)
    assert read_at(0, 4) == DATA[:4]
    source.write_bytes(DATA)
    assert read_at(50, CHUNK) == DATA[50:100]

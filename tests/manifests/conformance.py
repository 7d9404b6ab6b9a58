"""What every manifest adapter must do. Each check takes a manifest that is made, and its case.

The checks are plain functions, so that they can also be shown to fail: see
``test_conformance_bites.py``.
"""

import dataclasses
import itertools
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings

from scenemosaic.errors import ForeignObject
from scenemosaic.manifests.packing import MAX_ROW_BYTES, fitted, size_bytes
from scenemosaic.manifests.port import Existing, Inserted, Manifest, Row, Stale, Updated
from tests.manifests.support import JOB, ROWS, Case, at_once, columns_of, row, until_settled

OTHER = {"sha256": "cd" * 32, "etag": '"other"', "written_by": "run-2", "blocks": b"other"}


def check_an_insert_is_there_as_the_contract_spells_it(manifest: Manifest, case: Case) -> None:
    ours = row()
    assert manifest.insert(ours) == Inserted()
    assert manifest.get(JOB, "0000_0000") == ours
    assert case.raw_read(JOB, "0000_0000") == columns_of(ours)


def check_a_row_without_optional_columns(manifest: Manifest, case: Case) -> None:
    bare = row(sha256=None, version_id=None, blocks=None, crc=(), software={})
    assert manifest.insert(bare) == Inserted()
    assert manifest.get(JOB, "0000_0000") == bare
    assert case.raw_read(JOB, "0000_0000") == columns_of(bare)


def check_a_second_insert_gets_the_first_row_and_changes_nothing(
    manifest: Manifest, case: Case
) -> None:
    first = row()
    manifest.insert(first)
    before = case.raw_read(JOB, "0000_0000")
    assert manifest.insert(row(**OTHER)) == Existing(first)
    assert manifest.insert(first) == Existing(first)
    assert case.raw_read(JOB, "0000_0000") == before


def check_an_insert_sees_a_row_that_the_adapter_did_not_write(
    manifest: Manifest, case: Case
) -> None:
    there = row(written_by="somebody else")
    case.raw_write(columns_of(there))
    assert manifest.get(JOB, "0000_0000") == there
    assert manifest.insert(row()) == Existing(there)
    assert list(manifest.rows([JOB])) == [there]


def check_nothing_is_none(manifest: Manifest, case: Case) -> None:
    manifest.insert(row())
    assert manifest.get(JOB, "0000_0001") is None
    assert manifest.get(f"{JOB}#1", "0000_0000") is None
    assert list(manifest.windows([f"{JOB}#1"])) == []
    assert list(manifest.rows([])) == []
    assert list(manifest.windows([])) == []


def check_a_replace_of_the_right_revision(manifest: Manifest, case: Case) -> None:
    manifest.insert(row())
    new = row(**OTHER, version_id=None)
    expected = dataclasses.replace(new, revision=2)
    assert manifest.replace(new, 1) == Updated(expected)
    assert manifest.get(JOB, "0000_0000") == expected
    assert case.raw_read(JOB, "0000_0000") == columns_of(expected)


def check_a_replace_of_a_stale_revision_changes_nothing(manifest: Manifest, case: Case) -> None:
    manifest.insert(row())
    manifest.replace(row(), 1)
    current = row(revision=2)
    for revision in (1, 3, 0):
        assert manifest.replace(row(**OTHER), revision) == Stale(current)
    assert case.raw_read(JOB, "0000_0000") == columns_of(current)


def check_content_that_comes_back_is_still_another_revision(manifest: Manifest, case: Case) -> None:
    manifest.insert(row())
    manifest.replace(row(**OTHER), 1)
    manifest.replace(row(), 2)
    assert manifest.replace(row(**OTHER), 1) == Stale(row(revision=3))


def check_a_replace_of_a_missing_row_makes_none(manifest: Manifest, case: Case) -> None:
    assert manifest.replace(row(), 1) == Stale(None)
    assert case.raw_read(JOB, "0000_0000") is None


def check_a_counter_by_compare_and_swap(manifest: Manifest, case: Case) -> None:
    manifest.insert(row(bytes=0))

    def increment() -> None:
        while True:
            now = until_settled(lambda: manifest.get(JOB, "0000_0000"))
            assert now is not None
            more, seen = dataclasses.replace(now, bytes=now.bytes + 1), now.revision
            if isinstance(manifest.replace(more, seen), Updated):
                return

    at_once(5, lambda _: [increment() for _ in range(10)])
    final = manifest.get(JOB, "0000_0000")
    assert final is not None
    assert (final.bytes, final.revision) == (50, 51)


def check_a_race_to_insert_has_one_winner(
    manifest: Manifest, case: Case, workers: int = 16, rounds: int = 12
) -> None:
    for number in range(rounds):
        window = f"{number:04d}_0000"
        entries = [row(window, written_by=f"run-{worker}") for worker in range(workers)]
        answers = at_once(
            workers,
            lambda worker, entries=entries: until_settled(lambda: manifest.insert(entries[worker])),
        )
        winners = [at for at, answer in enumerate(answers) if answer == Inserted()]
        assert len(winners) == 1
        won = entries[winners[0]]
        assert answers.count(Existing(won)) == workers - 1
        assert case.raw_read(JOB, window) == columns_of(won)


def check_a_race_to_replace_has_one_winner(
    manifest: Manifest, case: Case, workers: int = 16, rounds: int = 6
) -> None:
    manifest.insert(row())
    for revision in range(1, rounds + 1):
        entries = [row(written_by=f"run-{worker}") for worker in range(workers)]
        answers = at_once(
            workers,
            lambda worker, entries=entries, revision=revision: until_settled(
                lambda: manifest.replace(entries[worker], revision)
            ),
        )
        winners = [answer.row for answer in answers if isinstance(answer, Updated)]
        assert len(winners) == 1
        assert answers.count(Stale(winners[0])) == workers - 1
        assert case.raw_read(JOB, "0000_0000") == columns_of(winners[0])


def check_every_page_is_read(manifest: Manifest, case: Case) -> None:
    entries = [row(f"{number:04d}_0000", blocks=bytes(4096)) for number in range(600)]
    insert_all(manifest, entries)
    assert list(manifest.windows([JOB])) == [entry.window for entry in entries]
    assert list(manifest.rows([JOB])) == entries
    of = [(one.window, one.output_uri, one.bytes, one.etag, one.version_id) for one in entries]
    assert [dataclasses.astuple(one) for one in manifest.outlines(JOB)] == of


def check_more_rows_than_a_page_of_names(manifest: Manifest, case: Case) -> None:
    entries = [row(f"{number:04d}_0000", blocks=None) for number in range(2000)]
    insert_all(manifest, entries)
    assert list(manifest.windows([JOB])) == [entry.window for entry in entries]


def check_all_shards_and_no_other_job(manifest: Manifest, case: Case) -> None:
    shards = [JOB, f"{JOB}#1", f"{JOB}#2", f"{JOB}#3"]
    strangers = [JOB[:-1] + "0", f"{JOB}#10", JOB[:32]]
    names = ["0000_0000", "0000_0001", "10000_0000", "mosaic"]
    insert_all(manifest, [row(name, shard) for shard in shards + strangers for name in names])
    # The third one stays empty: a shard may have no row yet.
    asked = [*shards[:2], f"{JOB}#7", *shards[2:]]
    assert list(manifest.windows(asked)) == names * 4
    assert list(manifest.rows(asked)) == [row(name, shard) for shard in shards for name in names]


def check_rows_come_back_exactly(manifest: Manifest, case: Case) -> None:
    count = itertools.count()

    @settings(max_examples=60, deadline=None)
    @given(ROWS, ROWS)
    def round_trip(some: Row, other: Row) -> None:
        partition = f"{JOB}#{next(count)}"
        first = dataclasses.replace(some, partition=partition)
        second = dataclasses.replace(other, partition=partition, window=some.window)
        assert manifest.insert(first) == Inserted()
        assert manifest.get(partition, first.window) == first
        assert manifest.insert(second) == Existing(first)
        updated = manifest.replace(second, first.revision)
        assert updated == Updated(dataclasses.replace(second, revision=first.revision + 1))
        assert list(manifest.rows([partition])) == [updated.row]

    round_trip()


def check_blocks_are_left_out_of_a_row_that_would_pass_64_kb(
    manifest: Manifest, case: Case
) -> None:
    room = MAX_ROW_BYTES - size_bytes(row(blocks=b""))
    full, over = row("0000_0000", blocks=bytes(room)), row("0000_0001", blocks=bytes(room + 1))
    assert fitted(over) == dataclasses.replace(over, blocks=None)
    insert_all(manifest, [full, over])
    assert list(manifest.rows([JOB])) == [full, fitted(over)]
    assert manifest.replace(over, 1) == Updated(dataclasses.replace(fitted(over), revision=2))


def check_a_row_that_is_not_ours_is_named(manifest: Manifest, case: Case) -> None:
    columns = columns_of(row("0003_0004"))
    case.raw_write({**columns, "crc": "not ours"})
    for read in (
        lambda: manifest.get(JOB, "0003_0004"),
        lambda: list(manifest.rows([JOB])),
        lambda: manifest.insert(row("0003_0004")),
    ):
        with pytest.raises(ForeignObject, match=f"0003_0004.*{JOB}"):
            read()
    assert list(manifest.windows([JOB])) == ["0003_0004"]


def check_to_make_it_again_keeps_the_rows(manifest: Manifest, case: Case) -> None:
    manifest.insert(row())
    assert manifest.ready()
    assert manifest.ensure() is False
    again = case.open()
    assert again.ensure() is False
    assert manifest.get(JOB, "0000_0000") == row()
    again.close()


def insert_all(manifest: Manifest, entries: list[Row]) -> None:
    with ThreadPoolExecutor(8) as pool:
        inserted = pool.map(lambda entry: until_settled(lambda: manifest.insert(entry)), entries)
        assert set(inserted) == {Inserted()}


CHECKS = [check for name, check in list(globals().items()) if name.startswith("check_")]

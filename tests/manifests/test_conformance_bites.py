"""The suite fails where it must: against adapters that ignore conditions, pages or shards."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.manifests import conformance as suite
from tests.manifests.support import (
    Case,
    Cheat,
    ChecksFirst,
    CountsOnePage,
    ForgetsShards,
    IgnoresConditions,
    PostgresCase,
    SqliteCase,
)

CAUGHT: list[tuple[type[Cheat], Callable[..., None]]] = [
    (IgnoresConditions, suite.check_a_second_insert_gets_the_first_row_and_changes_nothing),
    (IgnoresConditions, suite.check_an_insert_sees_a_row_that_the_adapter_did_not_write),
    (IgnoresConditions, suite.check_a_replace_of_a_stale_revision_changes_nothing),
    (IgnoresConditions, suite.check_content_that_comes_back_is_still_another_revision),
    (IgnoresConditions, suite.check_a_replace_of_a_missing_row_makes_none),
    (IgnoresConditions, suite.check_a_counter_by_compare_and_swap),
    (IgnoresConditions, suite.check_a_race_to_insert_has_one_winner),
    (IgnoresConditions, suite.check_a_race_to_replace_has_one_winner),
    (ChecksFirst, suite.check_a_counter_by_compare_and_swap),
    (ChecksFirst, suite.check_a_race_to_insert_has_one_winner),
    (ChecksFirst, suite.check_a_race_to_replace_has_one_winner),
    (CountsOnePage, suite.check_every_page_is_read),
    (CountsOnePage, suite.check_more_rows_than_a_page_of_names),
    (ForgetsShards, suite.check_all_shards_and_no_other_job),
]


@pytest.mark.parametrize(
    ("cheat", "check"), CAUGHT, ids=lambda part: part.__name__.removeprefix("check_")
)
@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_a_cheat_is_caught(
    cheat: type[Cheat],
    check: Callable[..., None],
    database: str,
    tmp_path: Path,
    request: pytest.FixtureRequest,
):
    case: Case = SqliteCase(tmp_path)
    if database == "postgresql":
        case = PostgresCase(request.getfixturevalue("postgres_url"))
    manifest = cheat(case)
    manifest.ensure()
    with pytest.raises((AssertionError, ExceptionGroup)) as caught:
        check(manifest, case)
    assert "AssertionError" in repr(caught.value)
    manifest.close()


def test_an_honest_adapter_passes_what_catches_cheats(tmp_path: Path):
    for number, check in enumerate(dict.fromkeys(check for _, check in CAUGHT)):
        case = SqliteCase(tmp_path / str(number))
        manifest = Cheat(case)
        manifest.ensure()
        check(manifest, case)
        manifest.close()

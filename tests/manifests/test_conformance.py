"""Every adapter of the manifest port against the one suite."""

from collections.abc import Callable

import pytest

from scenemosaic.errors import InputError, MissingSchema
from scenemosaic.manifests import open_manifest
from scenemosaic.manifests.port import Manifest
from tests.lengths import length
from tests.manifests import conformance
from tests.manifests.support import JOB, Case, MemoryCase, at_once, row, until_settled


@pytest.mark.parametrize("check", conformance.CHECKS, ids=lambda check: check.__name__[6:])
def test_conforms(check: Callable[[Manifest, Case], None], made: Manifest, case: Case):
    check(made, case)


@pytest.mark.slow
def test_a_long_race_has_one_winner_each_round(made: Manifest, case: Case):
    # It is the database's own code that lets one win.
    rounds = length(25, 100)
    conformance.check_a_race_to_insert_has_one_winner(made, case, workers=32, rounds=rounds)


def test_without_a_schema_every_call_says_so_and_makes_nothing(case: Case):
    manifest = case.open()
    assert manifest.ready() is False
    for call in (
        lambda: manifest.get(JOB, "0000_0000"),
        lambda: manifest.insert(row()),
        lambda: manifest.replace(row(), 1),
        lambda: list(manifest.windows([JOB])),
        lambda: list(manifest.rows([JOB, f"{JOB}#1"])),
    ):
        with pytest.raises(MissingSchema, match="scenemosaic init"):
            call()
    assert case.untouched()
    assert manifest.ensure() is True
    assert manifest.ready() is True
    assert list(manifest.windows([JOB])) == []
    manifest.close()


def test_racing_makers_all_succeed_and_one_made_it(case: Case):
    shared = case.open()
    makers = [shared if isinstance(case, MemoryCase) else case.open() for _ in range(8)]
    made = at_once(8, lambda number: until_settled(makers[number].ensure))
    assert sorted(made) == [False] * 7 + [True]
    assert all(maker.ready() for maker in makers)
    for maker in makers:
        maker.close()


@pytest.mark.parametrize(
    "url",
    [
        "mysql://host/db",
        "manifest.db",
        "",
        "dynamodb://",
        "dynamodb:table",
        "dynamodb://table/more",
        "dynamodb://table?regoin=eu-west-1",
        "dynamodb://key:secret@table",
        "postgresql://host/db",
        "sqlite+aiosqlite:///file.db",
    ],
)
def test_a_url_that_names_no_manifest_is_bad_input(url: str):
    with pytest.raises(InputError) as caught:
        open_manifest(url)
    assert "secret" not in str(caught.value)

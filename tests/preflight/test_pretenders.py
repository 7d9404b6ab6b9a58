"""A store that breaks one promise is refused, by the name of what it ignores."""

from collections.abc import Callable
from pathlib import Path

import pytest

from scenemosaic.errors import PreconditionsIgnored
from scenemosaic.manifests.port import Manifest
from scenemosaic.preflight.full import MANIFEST_CHECKS, STORE_CHECKS
from scenemosaic.preflight.report import Verdict
from scenemosaic.stores.port import Store
from tests.manifests import support
from tests.preflight import pretenders
from tests.preflight.conftest import look, named

VERSIONED = {"version-race", "deleted"}
STORE = {name for name, *_ in STORE_CHECKS} - VERSIONED
LONG = {"insert-long-race"}  # of DynamoDB alone
ROWS = {name for name, *_ in MANIFEST_CHECKS} - LONG
MATCHES = {"match-stale", "match-absent", "match-race"}
COMPLETIONS = {"complete", "complete-match", "complete-race"}
RACES = {"create-race", "match-race", "complete-race"}
CAUGHT: list[tuple[type[pretenders.Probed], set[str]]] = [
    (pretenders.IgnoresAll, STORE),
    (pretenders.MixesWrites, STORE),
    (pretenders.IgnoresCreates, {"create", "create-race"}),
    (pretenders.IgnoresMatches, MATCHES),
    (pretenders.IgnoresCompletions, COMPLETIONS),
    (pretenders.IgnoresMatchesOfCompletions, {"complete-match"}),
    (pretenders.LooksFirst, RACES),
    (pretenders.RefusesAndWrites, STORE - {"match-absent"}),
]


@pytest.mark.parametrize(
    ("pretender", "ignored"), CAUGHT, ids=lambda case: getattr(case, "__name__", "")
)
def test_a_store_is_refused_for_what_it_ignores(
    pretender: type[pretenders.Probed],
    ignored: set[str],
    local_store: Store,
    sqlite_rows: Manifest,
) -> None:
    report = look(pretender(local_store), sqlite_rows)
    assert named(report, Verdict.IGNORED) == ignored
    error = report.error()
    assert isinstance(error, PreconditionsIgnored)
    assert (error.kind, error.exit_code) == ("preconditions-ignored", 5)
    titles = {name: title for name, title, *_ in STORE_CHECKS}
    assert all(titles[name] in str(error) for name in ignored)
    assert local_store.uri in str(error)
    assert sqlite_rows.url not in str(error)
    assert list(local_store.list("")) == []


def test_a_versioned_bucket_may_pretend_in_its_own_way(
    s3_store: Callable[[bool], Store], sqlite_rows: Manifest
) -> None:
    report = look(pretenders.ForgetsDeleted(s3_store(True)), sqlite_rows)
    assert named(report, Verdict.IGNORED) == {"deleted"}
    report = look(pretenders.IgnoresAll(s3_store(True)), sqlite_rows)
    assert named(report, Verdict.IGNORED) == STORE | VERSIONED


@pytest.mark.parametrize(
    ("cheat", "ignored"),
    [
        (support.IgnoresConditions, ROWS),
        (support.ChecksFirst, {"insert-race", "replace-race"}),
    ],
)
def test_a_manifest_is_refused_for_what_it_ignores(
    cheat: type[support.Cheat], ignored: set[str], local_store: Store, tmp_path: Path
) -> None:
    manifest = cheat(support.SqliteCase(tmp_path))
    report = look(local_store, manifest)
    assert named(report, Verdict.IGNORED) == ignored
    error = report.error()
    assert isinstance(error, PreconditionsIgnored)
    assert manifest.url in str(error)
    assert local_store.uri not in str(error)
    # This adapter has no verb to delete rows: what is left is named.
    assert report.cleanup.left
    assert all(one.uri.startswith("sqlite") for one in report.cleanup.left)

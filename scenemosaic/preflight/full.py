"""The full preflight: every check of a root and its manifest, then the report."""

import secrets
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from scenemosaic.errors import InputError, MissingCapability, SceneMosaicError
from scenemosaic.manifests.port import Manifest
from scenemosaic.preflight import object_checks as of_objects
from scenemosaic.preflight import rows as of_rows
from scenemosaic.preflight import versions as of_versions
from scenemosaic.preflight.cleanup import clean_up
from scenemosaic.preflight.ground import Ground
from scenemosaic.preflight.object_checks import ObjectCheck
from scenemosaic.preflight.objects import Objects
from scenemosaic.preflight.races import Racers
from scenemosaic.preflight.report import Cleanup, Finding, Report, Result, Subject, Verdict
from scenemosaic.preflight.rows import RowCheck, Rows
from scenemosaic.stores.port import Store
from scenemosaic.waiting.retry import Effects, RetryPolicy, now_rfc3339, retrying, system_effects

THREADS = 8
ROUNDS = 40
DEADLINE_S = 600.0

Progress = Callable[[str, float], None]

# name, title, whether every job relies on it, check
STORE_CHECKS: tuple[tuple[str, str, bool, ObjectCheck], ...] = (
    ("create", "create where absent", True, of_objects.create_again),
    ("create-race", "racing creates", True, of_objects.create_race),
    ("match-stale", "If-Match", False, of_objects.match_stale),
    ("match-absent", "If-Match, object absent", False, of_objects.match_absent),
    ("match-race", "racing compare-and-swap", False, of_objects.match_race),
    ("complete", "large create at completion", True, of_objects.complete_again),
    ("complete-match", "large If-Match at completion", False, of_objects.complete_stale),
    ("complete-race", "racing completions", True, of_objects.complete_race),
    ("version-race", "one version of a race", False, of_versions.version_race),
    ("deleted", "create after a delete", False, of_versions.deleted_race),
)
MANIFEST_CHECKS: tuple[tuple[str, str, bool, RowCheck], ...] = (
    ("insert", "insert where absent", True, of_rows.insert_again),
    ("insert-race", "racing inserts", True, of_rows.insert_race),
    ("insert-long-race", "racing inserts, long condition", False, of_rows.insert_race_at_length),
    ("replace-stale", "replace by revision", False, of_rows.replace_stale),
    ("replace-race", "racing compare-and-swap", False, of_rows.replace_race),
)


@dataclass(frozen=True, slots=True)
class Effort:
    """How hard to try: ``threads`` race ``rounds`` times at each check, within ``deadline_s``."""

    threads: int = THREADS
    rounds: int = ROUNDS
    deadline_s: float = DEADLINE_S

    def __post_init__(self) -> None:
        if self.threads < 2 or self.rounds < 1 or self.deadline_s <= 0:
            raise InputError(f"a race needs two threads, a round and some time: {self}")


def run_preflight(
    store: Store,
    manifest: Manifest,
    effort: Effort | None = None,
    effects: Effects | None = None,
    *,
    policy: RetryPolicy | None = None,
    token: Callable[[], str] = lambda: secrets.token_hex(16),
    now: Callable[[], str] = now_rfc3339,
    progress: Progress = lambda title, share: None,
) -> Report:
    """Race store and manifest under a prefix of this preflight's own, and clean up after it.

    ``token`` gives 32 hex digits. Makes the manifest's table where it is missing.
    ``progress(title, share)`` tells how much of all is done. Raises SceneMosaicError
    where not even a first object or row can be written.
    """
    effort = effort or Effort()
    effects = effects or system_effects()
    policy = policy or RetryPolicy()
    begun = effects.clock()
    retrying(manifest.ensure, policy, effects)
    with ThreadPoolExecutor(effort.threads) as pool:
        ground = Ground(
            token=token(),
            racers=Racers(pool, effort.threads),
            rounds=effort.rounds,
            policy=policy,
            effects=effects,
            end=begun + effort.deadline_s,
        )
        objects, rows = Objects(ground, store), Rows(ground, manifest, now())
        try:
            results = _results(ground, objects, rows, progress)
        finally:
            cleanup = _joined(*clean_up(objects, rows))
    return Report(store.uri, manifest.url, results, cleanup, effects.clock() - begun)


def _results(
    ground: Ground, objects: Objects, rows: Rows, progress: Progress
) -> tuple[Result, ...]:
    # Where these fail there is nothing to test, and the reason is the user's to mend.
    objects.create(objects.key("start"), "first")
    rows.start("start")
    planned: list[tuple[str, Subject, str, bool, Callable[[], Finding]]] = [
        *((name, "store", title, required, lambda check=check: check(objects))
          for name, title, required, check in STORE_CHECKS),
        *((name, "manifest", title, required, lambda check=check: check(rows))
          for name, title, required, check in MANIFEST_CHECKS),
    ]  # fmt: skip
    results = []
    for number, (name, subject, title, required, check) in enumerate(planned):
        ground.progress = _part(progress, f"{subject}: {title}", number, len(planned))
        ground.progress(0.0)
        results.append(Result(name, subject, title, required, _found(ground, check)))
    progress("done", 1.0)
    return tuple(results)


def _part(progress: Progress, title: str, number: int, count: int) -> Callable[[float], None]:
    return lambda share: progress(title, (number + share) / count)


def _found(ground: Ground, check: Callable[[], Finding]) -> Finding:
    if ground.late:
        return Finding(Verdict.UNTESTED, "the deadline was over")
    before = ground.refusals
    try:
        found = check()
    except MissingCapability as error:
        found = Finding(Verdict.NOT_OFFERED, str(error))
    except SceneMosaicError as error:
        found = Finding(Verdict.UNTESTED, str(error))
    return replace(found, refusals=ground.refusals - before)


def _joined(*parts: Cleanup) -> Cleanup:
    return Cleanup(
        made=tuple(one for part in parts for one in part.made),
        left=tuple(one for part in parts for one in part.left),
        why="; ".join(part.why for part in parts if part.why),
    )

"""Taking preflight's own probes away: by exact key and version, and nothing else."""

import logging
from collections.abc import Callable, Iterable
from typing import TypeVar

from scenemosaic import keys
from scenemosaic.errors import MissingCapability, SceneMosaicError
from scenemosaic.manifests.port import ProbeRows
from scenemosaic.preflight.ground import Ground
from scenemosaic.preflight.objects import Objects
from scenemosaic.preflight.report import Cleanup, Made
from scenemosaic.preflight.rows import Rows
from scenemosaic.stores.port import Probes, Probing, Version
from scenemosaic.waiting.retry import retrying

T = TypeVar("T")

_log = logging.getLogger(__name__)


def clean_up(objects: Objects, rows: Rows) -> tuple[Cleanup, Cleanup]:
    """Record what was made in the store and in the manifest, then remove it.

    What cannot be removed is named, with the first reason.
    """
    return _objects(objects), _rows(rows)


def _objects(objects: Objects) -> Cleanup:
    recorded = tuple(objects.made)
    if not isinstance(objects.store, Probing):
        return _recorded(recorded, recorded, "this store has no way to delete them")
    probes = objects.store.probes()
    try:
        there = _listed(objects, probes)
        made = _recorded(tuple(dict.fromkeys([*recorded, *there]))).made
        why = _removed(objects.ground, there.values(), lambda one: _delete(probes, one))
        # What a store says of a deletion is not what it did.
        left = tuple(_listed(objects, probes))
        return Cleanup(made, left, (why or "the store still lists them") if left else "")
    except SceneMosaicError as error:
        return _recorded(recorded, recorded, str(error))


def _delete(probes: Probes, version: Version) -> None:
    probes.delete(version.key, version.version_id)


def _listed(objects: Objects, probes: Probes) -> dict[Made, Version]:
    """All that lies under the prefix that nobody else has, what came of lost replies included."""
    prefix = keys.probe_prefix(objects.ground.token)

    def every() -> list[Version]:
        try:
            return list(probes.versions(prefix))
        except MissingCapability:  # then no versions are kept either
            return [Version(info.key, None) for info in objects.store.list(prefix)]

    found = retrying(every, objects.ground.policy, objects.ground.effects)
    return {Made(objects.store.object_uri(one.key), one.version_id): one for one in found}


def _rows(rows: Rows) -> Cleanup:
    names = {Made(f"{rows.manifest.url} {rows.partition} {name}"): name for name in rows.made}
    manifest = rows.manifest
    if not isinstance(manifest, ProbeRows):
        return _recorded(tuple(names), tuple(names), "this manifest has no way to delete them")
    _recorded(tuple(names))

    left = list(names)

    def remove(one: Made) -> None:
        manifest.delete_probe(rows.partition, names[one])
        left.remove(one)

    why = _removed(rows.ground, tuple(names), remove)
    return Cleanup(tuple(names), tuple(left), why)


def _recorded(made: tuple[Made, ...], left: tuple[Made, ...] = (), why: str = "") -> Cleanup:
    for one in made:
        _log.info("preflight made %s version %s", one.uri, one.version_id)
    return Cleanup(made, left, why)


def _removed(ground: Ground, made: Iterable[T], remove: Callable[[T], None]) -> str:
    """Why not all could be removed. The first failure ends it: the next would fail alike."""
    for one in made:
        try:
            retrying(lambda one=one: remove(one), ground.policy, ground.effects)  # type: ignore[misc]
        except SceneMosaicError as error:
            return str(error)
    return ""

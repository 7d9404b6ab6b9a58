"""Checks of a bucket that keeps versions: one version a create, also over a delete marker."""

from collections.abc import Callable

from scenemosaic.preflight.ground import Stored, Write
from scenemosaic.preflight.objects import Objects
from scenemosaic.preflight.report import Finding, Verdict
from scenemosaic.stores.port import Answer, IfAbsent, IfMatch, Probes, Probing, Version
from scenemosaic.waiting.retry import retrying

_SHARE = 4
_LEAST = 3


def version_race(objects: Objects) -> Finding:
    probes = _probes_of_versioned(objects)
    if isinstance(probes, Finding):
        return probes
    raced = [objects.key("version-race", number) for number in range(_rounds(objects))]

    def prepare(number: int) -> tuple[Write, Stored]:
        return objects.put(raced[number], IfAbsent()), objects.stored(raced[number])

    found = objects.ground.race("store", len(raced), prepare)
    if found.verdict is not Verdict.ENFORCED:
        return found
    for key in raced:
        if (count := len(_kept(objects, probes, key))) != 1:
            return Finding(Verdict.IGNORED, f"a race of creates made {count} versions")
    return Finding(Verdict.ENFORCED, f"{found.seen} and one version each")


def deleted_race(objects: Objects) -> Finding:
    """What was deleted may be created again, once; the version before may not be changed."""
    probes = _probes_of_versioned(objects)
    if isinstance(probes, Finding):
        return probes
    old = {}

    def prepare(number: int) -> tuple[Write, Stored]:
        info = objects.create(objects.key("deleted", number), "first")
        old[info.key] = info.etag
        probes.delete(info.key)
        return objects.put(info.key, IfAbsent()), objects.stored(info.key)

    found = objects.ground.race("store", _rounds(objects), prepare)
    if found.verdict is not Verdict.ENFORCED:
        return found
    return _changed_after_delete(objects, probes) or found


def _changed_after_delete(objects: Objects, probes: Probes) -> Finding | None:
    info = objects.create(objects.key("deleted-match"), "first")
    probes.delete(info.key)
    write = objects.put(info.key, IfMatch(info.etag))
    if objects.ground.surely("store", "intruder", write) is Answer.WRITTEN:
        return Finding(Verdict.IGNORED, "a change of a version that had been deleted was accepted")
    return None


def _rounds(objects: Objects) -> int:
    return max(_LEAST, objects.ground.rounds // _SHARE)


def _probes_of_versioned(objects: Objects) -> Probes | Finding:
    """The verbs to look at versions with, or why there is nothing to look at."""
    if not objects.store.capabilities.versions:
        return Finding(Verdict.NOT_OFFERED, "this kind of store keeps no versions")
    if not isinstance(objects.store, Probing):
        return Finding(Verdict.UNTESTED, "versions cannot be listed here")
    probes = objects.store.probes()
    key = objects.key("versions")
    if objects.head(key) is None:
        first = objects.create(key, "first")
        objects.create(key, "second", IfMatch(first.etag))
    if len(_kept(objects, probes, key)) < 2:
        return Finding(Verdict.NOT_OFFERED, "no versions are kept here")
    return probes


def _kept(objects: Objects, probes: Probes, key: str) -> list[Version]:
    ground = objects.ground
    listed: Callable[[], list[Version]] = lambda: list(probes.versions(key))  # noqa: E731
    found = retrying(listed, ground.policy, ground.effects)
    return [one for one in found if one.key == key and not one.marker]

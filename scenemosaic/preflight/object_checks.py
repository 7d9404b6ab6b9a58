"""Checks of a store's conditions: creates, If-Match, and compositions."""

from collections.abc import Callable

from scenemosaic.preflight.ground import Stored, Write
from scenemosaic.preflight.objects import PADDING_BYTES, Objects
from scenemosaic.preflight.report import Finding, Verdict
from scenemosaic.stores.port import Answer, IfAbsent, IfMatch

# A composition costs megabytes: fewer of them race, and less often.
_COMPOSERS = 4
_COMPOSING_SHARE = 5

ObjectCheck = Callable[[Objects], Finding]


def create_again(objects: Objects) -> Finding:
    stands = objects.create(objects.key("create"), "first")
    write = objects.put(stands.key, IfAbsent())
    return objects.untouched(stands, write, "a second create")


def create_race(objects: Objects) -> Finding:
    def prepare(number: int) -> tuple[Write, Stored]:
        key = objects.key("create-race", number)
        padding = PADDING_BYTES[number % len(PADDING_BYTES)]
        return objects.put(key, IfAbsent(), padding), objects.stored(key)

    return objects.ground.race("store", objects.ground.rounds, prepare)


def match_stale(objects: Objects) -> Finding:
    first = objects.create(objects.key("match"), "first")
    second = objects.create(first.key, "second", IfMatch(first.etag))
    write = objects.put(first.key, IfMatch(first.etag))
    return objects.untouched(second, write, "a change of an old version")


def match_absent(objects: Objects) -> Finding:
    etag = objects.create(objects.key("match-other"), "first").etag
    key = objects.key("match-absent")
    answer = objects.ground.surely("store", "intruder", objects.put(key, IfMatch(etag)))
    if answer is Answer.WRITTEN or objects.head(key) is not None:
        return Finding(Verdict.IGNORED, "a change of an absent object made one")
    return Finding(Verdict.ENFORCED, "a change of an absent object was refused")


def match_race(objects: Objects) -> Finding:
    def prepare(number: int) -> tuple[Write, Stored]:
        info = objects.create(objects.key("match-race", number), "first")
        padding = PADDING_BYTES[number % len(PADDING_BYTES)]
        return objects.put(info.key, IfMatch(info.etag), padding), objects.stored(info.key)

    return objects.ground.race("store", objects.ground.rounds, prepare)


def complete_again(objects: Objects) -> Finding:
    base = objects.base()
    stands = objects.create(objects.key("complete"), "first")
    write = objects.compose(stands.key, base, IfAbsent())
    return objects.untouched(stands, write, "the completion of a large create")


def complete_stale(objects: Objects) -> Finding:
    base = objects.base()
    first = objects.create(objects.key("complete-match"), "first")
    second = objects.create(first.key, "second", IfMatch(first.etag))
    write = objects.compose(first.key, base, IfMatch(first.etag))
    return objects.untouched(second, write, "the completion of a large change")


def complete_race(objects: Objects) -> Finding:
    base = objects.base()
    offset = sum(segment.size_bytes for segment in base)

    def prepare(number: int) -> tuple[Write, Stored]:
        key = objects.key("complete-race", number)
        return objects.compose(key, base, IfAbsent()), objects.stored(key, offset)

    rounds = max(2, objects.ground.rounds // _COMPOSING_SHARE)
    return objects.ground.race("store", rounds, prepare, _COMPOSERS)

"""Killed between each pair of effects, a repair converges when it is run again."""

from pathlib import Path

import pytest

from scenemosaic.repair.waive import waive
from scenemosaic.session import Run
from scenemosaic.verification.verify import verify
from tests.faults.model.gate import Death
from tests.faults.model.test_deaths import Life, gated
from tests.jobs.places import MakePlace
from tests.lengths import length
from tests.repair.made import MAKER, REPAIRER, Made, make

WAIVED, BAD, LOST = "0002_0002", "0001_0001", "0000_0001"
# A waiver ended, a tile replaced, one created: with rows and log. Then what is published.
LEAST_EFFECTS = 3 * 3 + 4


def wrong_job(place_of: MakePlace, scene: Path) -> Made:
    """One window is waived, one damaged, one gone."""
    made = make(place_of(), scene, WAIVED)
    waive(made.spec, [WAIVED], "clouds", MAKER)
    made.assemble()
    made.damage(made.tile_key(BAD))
    made.delete(made.tile_key(LOST))
    return made


def contents(made: Made) -> dict[str, list[str]]:
    """Every key but the log, which may say twice what was tried twice."""
    return {key: found for key, found in made.place.versions().items() if key[:6] != "audit/"}


def check(made: Made, expected: dict[str, list[str]]) -> None:
    assert contents(made) == expected
    for name in (WAIVED, BAD, LOST):
        made.row_describes(name)
    row = made.row(WAIVED)
    assert row is not None
    assert row.waiver is None
    assert verify(made.spec).findings == ()
    assert made.item()["properties"]["scenemosaic:revision"] == 1


@pytest.mark.parametrize(
    ("again", "begin"), [(REPAIRER, 0), (MAKER, 1)], ids=["the-same-run", "the-first-run"]
)
def test_on_a_local_root(local_place: MakePlace, small_scene: Path, again: Run, begin: int) -> None:
    """Each effect by one of the two, and in full by both."""
    whole = Life(None)
    first = wrong_job(local_place, small_scene)
    with gated(whole):
        assert first.repair(WAIVED, BAD, LOST).state == "Repaired"
    expected = contents(first)
    check(first, expected)
    assert len(whole.seen) >= LEAST_EFFECTS
    for effects in range(length(begin, 0), len(whole.seen), length(2, 1)):
        made, life = wrong_job(local_place, small_scene), Life(effects)
        with gated(life), pytest.raises(Death):
            made.repair(WAIVED, BAD, LOST)
        assert life.dead
        report = made.repair(WAIVED, BAD, LOST, run=again)
        assert report.exit_code == 0, (effects, report)
        check(made, expected)
        idle = Life(0)
        with gated(idle):
            made.repair(WAIVED, BAD, LOST)
        assert idle.seen == []


def both(made: Made) -> None:
    made.repair(WAIVED)
    made.repair()


def test_without_names_it_converges_too(local_place: MakePlace, small_scene: Path) -> None:
    """What the next verification finds is what the killed repair left undone."""
    whole = Life(None)
    first = wrong_job(local_place, small_scene)
    with gated(whole):
        both(first)
    expected = contents(first)
    for effects in range(len(whole.seen)):
        made, life = wrong_job(local_place, small_scene), Life(effects)
        with gated(life), pytest.raises(Death):
            both(made)
        made.repair()
        made.repair(WAIVED)
        check(made, expected)


def test_a_waiver_that_was_killed_is_not_taken_for_pixels(
    local_place: MakePlace, small_scene: Path
) -> None:
    """Between its tile and its row: a repair computes the window, and the same waiver goes on."""
    for again in ("repair", "waive"):
        for effects in (1, 2):
            made, life = make(local_place(), small_scene, WAIVED), Life(effects)
            with gated(life), pytest.raises(Death):
                waive(made.spec, [WAIVED], "clouds", MAKER)
            assert made.row(WAIVED) is None
            if again == "repair":
                made.repair()
                assert made.read(made.tile_key(WAIVED)) == made.tile(WAIVED).data
            else:
                waive(made.spec, [WAIVED], "clouds", REPAIRER)
            row = made.row(WAIVED)
            assert row is not None
            assert row.waiver == (None if again == "repair" else "clouds")
            made.assemble()
            assert verify(made.spec).findings == ()


def test_on_s3_and_dynamodb(
    s3_place: MakePlace, small_scene: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At every third effect: each job costs seconds there."""
    place = s3_place()
    for name, value in place.env.items():
        monkeypatch.setenv(name, value)
    whole = Life(None)
    first = s3_job(s3_place, small_scene)
    with gated(whole):
        first.repair(WAIVED, BAD)
    sound = first.read(first.tile_key(WAIVED)), first.read(first.tile_key(BAD))
    for effects in range(0, len(whole.seen), 3):
        made, life = s3_job(s3_place, small_scene), Life(effects)
        with gated(life), pytest.raises(Death):
            made.repair(WAIVED, BAD)
        assert made.repair(WAIVED, BAD).exit_code == 0
        assert (made.read(made.tile_key(WAIVED)), made.read(made.tile_key(BAD))) == sound
        assert verify(made.spec).findings == ()
        assert made.item()["properties"]["scenemosaic:revision"] == 1
        keys = [key for key in made.place.versions() if key.startswith("mosaics/")]
        assert len(keys) == 5, "two mosaics, two previews, one item"


def s3_job(place_of: MakePlace, scene: Path) -> Made:
    made = make(place_of(), scene, WAIVED)
    waive(made.spec, [WAIVED], "clouds", MAKER)
    made.assemble()
    made.damage(made.tile_key(BAD))
    return made

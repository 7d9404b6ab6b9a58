"""The suite against every adapter, and against a store that ignores conditions."""

import dataclasses
from collections.abc import Callable

import pytest

from tests.faults.stores import IgnoresConditions
from tests.stores import conformance
from tests.stores.doors import Harness


@pytest.mark.parametrize(
    "check", conformance.CONDITIONS + conformance.OTHERS, ids=lambda check: check.__name__
)
def test_conforms(harness: Harness, check: conformance.Check) -> None:
    check(harness)


@pytest.mark.parametrize("adapter", ["local", "s3-ministack-versioned"])
@pytest.mark.parametrize("check", conformance.CONDITIONS, ids=lambda check: check.__name__)
def test_fails_where_conditions_are_ignored(
    make_harness: Callable[[str], Harness], adapter: str, check: conformance.Check
) -> None:
    sound = make_harness(adapter)
    pretending = dataclasses.replace(sound, store=IgnoresConditions(sound.store))
    with pytest.raises(AssertionError):
        check(pretending)


@pytest.mark.parametrize("check", conformance.OTHERS, ids=lambda check: check.__name__)
def test_the_pretending_store_is_sound_otherwise(
    make_harness: Callable[[str], Harness], check: conformance.Check
) -> None:
    sound = make_harness("local")
    check(dataclasses.replace(sound, store=IgnoresConditions(sound.store)))

"""A job's ID as people type it: all of it, or its first digits where no other job has the same."""

import re
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import islice
from typing import Final

from scenemosaic import keys
from scenemosaic.errors import InputError
from scenemosaic.places import StorePlace
from scenemosaic.roots import is_there, parse_root
from scenemosaic.stores import open_store

_DIGITS: Final = re.compile(r"[0-9a-fA-F]+")
_WHOLE: Final = 32
_NAMED: Final = 5


def whole_job_id(given: str, place: StorePlace) -> str:
    """The 32 digits of the one job whose ID is, or begins with, ``given``, in whatever case.

    A whole ID is not looked up; a beginning costs one listing. Raises InputError where
    ``given`` is neither, or begins the ID of no job under the root, or of several; StoreError.
    """
    if not _DIGITS.fullmatch(given) or not keys.LEAST_DIGITS <= len(given) <= _WHOLE:
        raise InputError(
            f"a job ID is 32 hex digits (0-9, a-f), or its first {keys.LEAST_DIGITS} and more of "
            f"them, not {given!r:.80}"
        )
    given = given.lower()
    if len(given) == _WHOLE:
        return given
    with closing(open_store(place.root, place.access)) as store:
        plans = store.list(keys.plans_prefix(given))
        found = list(islice(_jobs(info.key for info in plans), _NAMED + 1))
    if len(found) > 1:
        raise _ambiguous(given, place, found)
    if not found:
        missing = f"no plan is at {keys.plans_prefix(given)}…; where a job's is gone, give all 32"
        raise no_such_job(place, f"that begins with {given}", f"{missing} digits")
    return found[0]


def _jobs(plans: Iterator[str]) -> Iterator[str]:
    return (job_id for key in plans if (job_id := keys.job_of_plan(key)) is not None)


def _ambiguous(given: str, place: StorePlace, found: Sequence[str]) -> InputError:
    more = ", and there are more" if len(found) > _NAMED else ""
    return InputError(
        f"{given} begins several jobs' IDs under {place.root}: {', '.join(found[:_NAMED])}{more}; "
        "give more digits (scenemosaic jobs lists them)"
    )


def no_such_job(place: StorePlace, named: str, missing: str) -> InputError:
    """The error of a job that nothing was found of; ``missing`` says what was looked for."""
    root = parse_root(place.root)
    why = missing if is_there(root) else "there is no folder: is the root spelled right?"
    return InputError(f"{root.uri} holds no job {named}: {why}")

"""What preflight found, and what follows from it. Pure."""

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from scenemosaic.committing.metrics import REFUSALS
from scenemosaic.errors import PermanentStoreError, PreconditionsIgnored, PreconditionsUnproven

Subject = Literal["store", "manifest"]


class Verdict(enum.Enum):
    """What a check came to."""

    ENFORCED = "enforced"
    IGNORED = "not enforced"
    NOT_OFFERED = "not offered"
    UNTESTED = "could not be tested"


@dataclass(frozen=True, slots=True)
class Finding:
    """A verdict, what was seen, and how many conditional writes were refused on the way."""

    verdict: Verdict
    seen: str
    refusals: int = 0


@dataclass(frozen=True, slots=True)
class Result:
    """One check's finding. ``required``: every job relies on it."""

    name: str
    subject: Subject
    title: str
    required: bool
    finding: Finding

    @property
    def verdict(self) -> Verdict:
        return self.finding.verdict

    def to_json(self) -> dict[str, object]:
        return {
            "name": self.name,
            "subject": self.subject,
            "title": self.title,
            "required": self.required,
            "verdict": self.verdict.value,
            "seen": self.finding.seen,
            "refusals": self.finding.refusals,
        }


@dataclass(frozen=True, slots=True)
class Made:
    """An object of preflight's own, by exact key and version, or a row of its own."""

    uri: str
    version_id: str | None = None


@dataclass(frozen=True, slots=True)
class Cleanup:
    """What was made, what of it could not be removed, and why."""

    made: tuple[Made, ...]
    left: tuple[Made, ...]
    why: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """All results for one root and one manifest, whose ``url`` holds no secret."""

    root: str
    manifest: str
    results: tuple[Result, ...]
    cleanup: Cleanup
    seconds: float

    @property
    def counters(self) -> Mapping[str, int]:
        """A counter that never moves proves nothing: these refusals were wanted."""
        return {REFUSALS: sum(result.finding.refusals for result in self.results)}

    def error(self) -> PermanentStoreError | None:
        """Why no job may run here, naming what is not enforced; None where one may."""
        ignored = [one for one in self.results if one.verdict is Verdict.IGNORED]
        if ignored:
            return PreconditionsIgnored(
                f"{self._places(ignored)} does not enforce: {_listed(ignored)}; outputs could be "
                f"written twice or lost, so choose {_another(ignored)}, or a newer version of "
                "this one, and run preflight again"
            )
        unproven = [one for one in self.results if one.required and not _is_proven(one)]
        if unproven:
            return PreconditionsUnproven(
                f"{self._places(unproven)} could not be shown to enforce: {_listed(unproven)}; "
                "mend what is said there and run preflight again"
            )
        return None

    def _places(self, results: list[Result]) -> str:
        named = {"store": self.root, "manifest": self.manifest}
        return " and ".join(dict.fromkeys(named[one.subject] for one in results))


def _is_proven(result: Result) -> bool:
    return result.verdict is Verdict.ENFORCED


def _listed(results: list[Result]) -> str:
    return ", ".join(f"{one.title} ({one.finding.seen})" for one in results)


def _another(results: list[Result]) -> str:
    return " and ".join(dict.fromkeys(f"another {one.subject}" for one in results))

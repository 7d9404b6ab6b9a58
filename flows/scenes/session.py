"""What the command line hands to a flow in its own process, beside the flow's parameters."""

from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Final, Protocol

from flows.engines.own_cluster import OwnCluster
from flows.reports.scene import ProcessReport
from scenemosaic.auditing.trail import Trace
from scenemosaic.job import JobSpec, WindowOutcome
from scenemosaic.mosaic.progress import COPYING


class Observer(Protocol):
    """Told of a run's progress, from many threads at once; must be quick and never raise."""

    def stage(self, name: str) -> None:
        """A stage begins."""

    def windows(self, total: int, present: int) -> None:
        """How many windows the plan has, and how many have a row already."""

    def window(self, outcome: WindowOutcome) -> None:
        """One window is done."""

    def copied(self, done: int, total: int, phase: str = COPYING) -> None:
        """How much of the mosaic stands, in bytes; before that, boxes of its smaller levels."""


class Silent:
    """An observer that does nothing."""

    def stage(self, name: str) -> None:
        pass

    def windows(self, total: int, present: int) -> None:
        pass

    def window(self, outcome: WindowOutcome) -> None:
        pass

    def copied(self, done: int, total: int, phase: str = COPYING) -> None:
        pass


@dataclass(frozen=True, slots=True)
class Session:
    """A planned job, and who watches it.

    ``prepared``: it was not finished a moment ago, and its plan was published, as ``trace``
    says.
    ``reports`` is given the run's report, which outlives an API that went away. ``cluster`` is
    shared with other runs of this process; without one, an engine starts its own.
    """

    spec: JobSpec
    observer: Observer
    prepared: bool = False
    trace: Trace = field(default_factory=Trace)
    reports: list[ProcessReport] = field(default_factory=list)
    cluster: OwnCluster | None = None


ACTIVE: Final[ContextVar[Session | None]] = ContextVar("scenemosaic_session", default=None)

"""A running scene's progress in Prefect: an artifact and a log line, from a thread of its own.

Nothing of it is in the path of a window: workers only count, and the thread looks at the
counts once a second. Where Prefect's API fails, the run goes on without it.
"""

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import replace
from typing import Any, Final
from uuid import UUID

from prefect.artifacts import create_progress_artifact, update_progress_artifact

from flows.scenes.session import Session
from flows.server.api import is_temporary
from flows.shown.live import Both, Live, Snapshot
from flows.shown.showing import optional

EVERY_S: Final = 1.0
# Showing takes at most a fiftieth of the time, whatever it takes on a busy machine; but a run
# is seen to move.
PATIENCE: Final = 50
SELDOM_S: Final = 10.0
LOG_PERCENT: Final = 5.0
# A thread that waits for an API which is away must not keep the run from its end.
JOIN_S: Final = 5.0

_log = logging.getLogger(__name__)


@contextmanager
def watched(session: Session) -> Iterator[Session]:
    """The session, told on to Prefect for the length of a ``with`` block."""
    if is_temporary():
        yield session
        return
    live = Live()
    sampler = Sampler(live, session.spec.plan.job_id)
    thread = threading.Thread(target=copy_context().run, args=(sampler.run,), daemon=True)
    thread.start()
    try:
        yield replace(session, observer=Both(session.observer, live))
    finally:
        sampler.stop()
        thread.join(JOIN_S)


class Sampler:
    """Shows what it sees of a run at most once a second, and once at its end."""

    def __init__(self, live: Live, job_id: str) -> None:
        self._live = live
        self._job_id = job_id
        self._stopped = threading.Event()
        self._artifact: UUID | None = None
        self._shown: Snapshot | None = None
        self._logged_percent = 0.0

    def stop(self) -> None:
        """Let :meth:`run` come to its end."""
        self._stopped.set()

    def run(self) -> None:
        """Look until stopped."""
        pause_s = EVERY_S
        while not self._stopped.wait(pause_s):
            started = time.monotonic()
            self.look()
            took_s = time.monotonic() - started
            pause_s = min(max(PATIENCE * took_s, EVERY_S), SELDOM_S)
        self.look()

    def look(self) -> None:
        """Show the moment, where it is another one than was shown last."""
        now = self._live.snapshot()
        if now is None or (self._shown is not None and _same(now, self._shown)):
            return
        self._shown = now
        if now.percent - self._logged_percent >= LOG_PERCENT:
            self._logged_percent = now.percent
            _log.info("job %s: %.0f %%, %s", self._job_id, now.percent, now.text)
        with optional("progress", is_last=False):
            self._tell(now)

    def _tell(self, now: Snapshot) -> None:
        if self._artifact is None:
            made: Any = create_progress_artifact(  # Prefect's type is an async function's, too
                now.percent, key=f"progress-{self._job_id}", description=now.text
            )
            self._artifact = made
        else:
            update_progress_artifact(self._artifact, now.percent, now.text)


def _same(one: Snapshot, other: Snapshot) -> bool:
    return replace(one, seconds=0.0) == replace(other, seconds=0.0)

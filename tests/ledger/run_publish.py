"""Publications in a process of its own: ``python -m tests.ledger.run_publish ROOT MANIFEST``.

Each line of standard input is one publication, as JSON (job_id, ledger, run_id, slots),
and is answered by one line. ``die_before`` and ``die_after`` count the process's writes:
it sends itself SIGKILL there.
"""

import functools
import json
import os
import signal
import sys
from dataclasses import replace
from typing import Any

from flows.texts import publication as publication_text
from scenemosaic import job
from scenemosaic.job import JobSpec
from scenemosaic.ledger.book import Wanted
from scenemosaic.publishing import publication
from scenemosaic.session import Session, open_session
from scenemosaic.stores.port import Body, Condition, Store, WriteResult
from tests.faults.stores import Wrapper


class Mortal(Wrapper):
    """Ends the process before or after its nth write."""

    def __init__(self, inner: Store, before: int, after: int) -> None:
        super().__init__(inner)
        self._before, self._after = before, after

    def put(self, key: str, body: Body, condition: Condition) -> WriteResult:
        if self.writes + 1 == self._before:
            os.kill(os.getpid(), signal.SIGKILL)
        result = super().put(key, body, condition)
        if self.writes == self._after:
            os.kill(os.getpid(), signal.SIGKILL)
        return result


_spec = functools.cache(job.load_job)


def run(root: str, manifest: str, asked: dict[str, Any]) -> dict[str, object]:
    """One publication; conflicts are answers."""
    spec = _spec(asked["job_id"], root, manifest)
    before, after = asked.get("die_before", 0), asked.get("die_after", 0)

    def mortal(spec: JobSpec) -> Session:
        session = open_session(spec)
        return replace(session, store=Mortal(session.store, before, after))

    publication.open_session = mortal  # type: ignore[attr-defined]
    wanted = Wanted(asked["run_id"], asked["job_id"], asked["slots"], "Europe/Berlin")
    found = publication.publish(spec, asked["ledger"], wanted)
    return publication_text.as_json(found) | {"code": publication_text.exit_code(found)}


if __name__ == "__main__":
    print("{}", flush=True)
    for line in sys.stdin:
        print(json.dumps(run(sys.argv[1], sys.argv[2], json.loads(line))), flush=True)

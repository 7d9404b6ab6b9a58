"""Publishers as processes that live through many rounds, each told to begin at the same time."""

import contextlib
import json
import os
from collections.abc import Iterator
from typing import Any

from tests.forked import forks
from tests.jobs.places import REPOSITORY, Place

ANSWER_S = 60


class Publisher:
    """One process; :meth:`ask` returns at once, :meth:`answer` waits."""

    def __init__(self, place: Place) -> None:
        self._process = forks().start_piped(
            "tests.ledger.run_publish",
            [place.root, place.manifest],
            REPOSITORY,
            {**os.environ, **place.env},
        )

    def ask(self, job_id: str, ledger: str, run_id: str, slots: int, **more: int) -> None:
        asked = {"job_id": job_id, "ledger": ledger, "run_id": run_id, "slots": slots, **more}
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()

    def answer(self) -> dict[str, Any]:
        """The next answer; empty where the process is gone."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        return json.loads(line) if line else {}

    def ended(self) -> int:
        """Wait for the process's end; its exit code."""
        pipes = (self._process.stdin, self._process.stdout)
        for pipe in pipes:
            with contextlib.suppress(BrokenPipeError):
                assert pipe is not None
                pipe.close()
        return self._process.wait(ANSWER_S)


@contextlib.contextmanager
def publishers(place: Place, count: int) -> Iterator[list[Publisher]]:
    """So many, all of them ready."""
    started = [Publisher(place) for _ in range(count)]
    try:
        for one in started:
            assert one.answer() == {}
        yield started
    finally:
        for one in started:
            one.ended()

"""The engine's consumer in a process of its own: ``python -m tests.queues.run_consumer``.

Arguments: queue, root, manifest, run ID, seconds for which a message is hidden. Ends when
nothing has come for somewhat longer than that.
"""

import itertools
import sys

from scenemosaic import job
from scenemosaic.discovery.found import Found
from scenemosaic.plans.plan import PlanOptions
from scenemosaic.queues.consuming import Consumer, Listening
from scenemosaic.queues.sqs import SqsQueue
from scenemosaic.queues.verdict import Fate, SceneFate

AT_ONCE = 4
OPTIONS = PlanOptions(window=128, block_size=64)


class Scenes:
    """Carries scenes out by the engine alone."""

    def __init__(self, root: str, manifest: str, run_id: str) -> None:
        self._root, self._manifest, self._run_id = root, manifest, run_id
        self._numbers = itertools.count()

    def carry_out(self, found: Found) -> SceneFate:
        spec = job.plan_job([found.source], self._root, self._manifest, OPTIONS)
        run = job.Run(f"{self._run_id}.{next(self._numbers)}", self._run_id)
        fate = Fate.PRESENT
        if job.finished(spec) is None:
            job.prepare(spec)
            job.publish_plan(spec, run)
            job.commit_windows(spec, job.missing_windows(spec), run)
            job.assemble(spec, run)
            fate = Fate.DONE
        return SceneFate(found.source, fate, job_id=spec.plan.job_id)


if __name__ == "__main__":
    url, root, manifest, run_id, hidden_s = sys.argv[1:]
    listening = Listening(3600, AT_ONCE, stop_when_empty=True, poll_s=int(hidden_s) + 3)
    queue = SqsQueue(url, int(hidden_s))
    Consumer(queue, Scenes(root, manifest, run_id).carry_out).consume(listening)

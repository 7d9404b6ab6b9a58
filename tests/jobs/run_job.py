"""One run of a job in a process of its own, without Prefect: ``python -m tests.jobs.run_job``.

Arguments: source, root, manifest (or -), window, run ID. Prints one JSON object.
"""

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from scenemosaic import job
from scenemosaic.planning import PlanOptions


def run(source: str, root: str, manifest: str | None, window: int, run_id: str) -> dict[str, Any]:
    """Plan, commit on two threads, assemble. Counts are those of this run alone."""
    spec = job.plan_job([source], root, manifest, PlanOptions(window=window))
    me = job.Run(run_id, run_id)
    mosaic = job.finished(spec)
    written = 0
    if mosaic is None:
        job.prepare(spec)
        job.publish_plan(spec, me)
        missing = job.missing_windows(spec)
        with ThreadPoolExecutor(2) as pool:
            batches = list(pool.map(lambda n: job.commit_windows(spec, [n], me), missing))
        written = sum(batch.counters.get("written", 0) for batch in batches)
        mosaic = job.assemble(spec, me)
    return {
        "job_id": spec.plan.job_id,
        "windows": len(spec.plan.recipe.tiling()),
        "written": written,
        "mosaic": mosaic.uri,
        "outcome": mosaic.outcome,
    }


if __name__ == "__main__":
    source, root, manifest, window, run_id = sys.argv[1:]
    result = run(source, root, None if manifest == "-" else manifest, int(window), run_id)
    print(json.dumps(result))

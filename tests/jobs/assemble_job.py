"""One assembly in a process of its own: ``python -m tests.jobs.assemble_job``.

Arguments: job ID, root, manifest, run ID. Prints one JSON object.
"""

import json
import sys

from scenemosaic import job

if __name__ == "__main__":
    job_id, root, manifest, run_id = sys.argv[1:]
    mosaic = job.assemble(job.load_job(job_id, root, manifest), job.Run(run_id, run_id))
    print(json.dumps({"outcome": mosaic.outcome, "etag": mosaic.etag}))

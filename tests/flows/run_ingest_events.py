"""The flow in a process of its own: ``python -m tests.flows.run_ingest_events``.

Arguments: queue, root, manifest, seconds for which a message is hidden. The exit code is 1
where the flow run failed.
"""

import sys

from blocks.mosaic_recipe import RecipeFields
from flows.ingest_events import ingest_events
from tests.flows.scenes import BLOCK

RECIPE = RecipeFields(window=BLOCK * 2, block_size=BLOCK)

if __name__ == "__main__":
    url, root, manifest, hidden_s = sys.argv[1:]
    state = ingest_events(
        url,
        root,
        manifest,
        recipe=RECIPE,
        for_s=3600,
        hidden_s=int(hidden_s),
        stop_when_empty=True,
        return_state=True,
    )
    sys.exit(0 if state.is_completed() else 1)

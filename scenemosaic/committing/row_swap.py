"""Replacing a row by compare-and-swap on its revision, surviving lost replies."""

from dataclasses import replace

from scenemosaic.committing.metrics import count_refusal
from scenemosaic.errors import TransientStoreError
from scenemosaic.manifests.packing import fitted
from scenemosaic.manifests.port import Manifest, Row, Stale, Updated
from scenemosaic.waiting.retry import Effects, Pacer, RetryPolicy


def swap_row(
    manifest: Manifest, row: Row, revision: int, policy: RetryPolicy, effects: Effects
) -> Updated | Stale:
    """Replace the row whose revision is ``revision``; Stale holds what stands there instead.

    After a lost reply our own row counts as updated: a writer dates and signs its rows.
    """
    pacer = Pacer(policy, effects)
    while True:
        try:
            answer = manifest.replace(row, revision)
        except TransientStoreError as error:
            if not pacer.again(error.retry_after_s):
                raise
            continue
        if isinstance(answer, Stale):
            wanted = replace(fitted(row), revision=revision + 1)
            if pacer.failures and answer.row == wanted:
                return Updated(wanted)
            count_refusal("manifest")
        return answer

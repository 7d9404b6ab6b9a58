"""Ending uploads that can come to nothing any more. What cannot be ended is left to gc."""

import logging
from collections.abc import Callable

from scenemosaic.errors import StoreError
from scenemosaic.stores.port import Announces, Collects, Store

_log = logging.getLogger(__name__)


def end_one(store: Store, key: str, upload_id: str) -> None:
    """End the upload that a predecessor left in the claim."""
    if not isinstance(store, Collects):
        return
    try:
        if store.end(key, upload_id):
            _log.info("ended the upload %s of %s that a predecessor left", upload_id, key)
    except StoreError as error:
        _log.warning("the upload %s of %s may still be open: %s", upload_id, key, error)


def end_below(store: Store, prefix: str) -> None:
    """End every upload below ``prefix``, where all objects stand that belong there."""
    _end_all(store, prefix, lambda key: True)


def end_others(store: Store, key: str) -> None:
    """End every upload to a key that stands: a create's completion could only be refused.

    It finds what no claim knows, such as an upload whose ID was lost with the reply.
    """
    _end_all(store, key, lambda found: found == key)


def _end_all(store: Store, prefix: str, meant: Callable[[str], bool]) -> None:
    if not (isinstance(store, Announces) and isinstance(store, Collects)):
        return
    try:
        left = [(one.key, one.upload_id) for one in store.unfinished(prefix) if meant(one.key)]
    except StoreError as error:
        _log.warning("uploads of %s may still be open; `gc --abort` ends them: %s", prefix, error)
        return
    for key, upload_id in left:
        end_one(store, key, upload_id)

"""Whether a job is done: its published mosaic, and no window without a row."""

from scenemosaic import gaps, keys
from scenemosaic.errors import OldSchema
from scenemosaic.job_rows import row_names
from scenemosaic.publishing.item import check_describes, read_item
from scenemosaic.publishing.published import MosaicResult, result, standing
from scenemosaic.session import JobSpec, Run, open_session


def finished(spec: JobSpec) -> MosaicResult | None:
    """The published mosaic of a job with no gap, or None where anything of it is missing.

    Changes nothing and reads no source pixel: item.json, the HEAD of the mosaic to which it
    leads, one query a shard. A preview that was deleted is for assembly and repair to notice.
    Raises ForeignObject where item or mosaic is not ours, or the item is of another mosaic.
    """
    session = open_session(spec)
    item = read_item(session, spec)
    if item is None:
        return None
    mosaic = standing(session, spec, Run("", ""), item.revision)
    if mosaic is None:
        return None
    uri = session.store.object_uri(keys.item_key(spec.plan.job_id))
    check_describes(item, mosaic.stored, uri)
    try:
        names = row_names(session, spec)
    except OldSchema:  # preparing the job adds what it lacks
        return None
    if keys.MOSAIC_ROW not in names or gaps.find_gaps(spec.plan.recipe.tiling(), names).missing:
        return None
    return result(session, spec, mosaic, item.revision)

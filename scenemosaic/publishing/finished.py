"""Whether a job is done: its current mosaic, and no window without a row.

Whoever says of a job that it is finished goes by this, and so do those who refuse it.
"""

from dataclasses import dataclass

from scenemosaic import gaps, keys
from scenemosaic.errors import ForeignObject, OldSchema
from scenemosaic.job_rows import outlined_names
from scenemosaic.manifests.port import Outline
from scenemosaic.next_step import command
from scenemosaic.publishing.item import Item, check_describes, older, read_item
from scenemosaic.publishing.published import MosaicResult, result, revision_of, standing
from scenemosaic.session import JobSpec, Run, Session, open_session


@dataclass(frozen=True, slots=True)
class Examined:
    """A job as it stands: an item that is believed, its mosaic, the mosaic's row, and the gaps.

    ``revision`` is the item's; without an item, the one of which the mosaic's row tells.
    """

    item: Item | None
    revision: int
    mosaic: MosaicResult | None
    row: Outline | None
    present: int
    missing: tuple[str, ...]

    @property
    def is_described(self) -> bool:
        """Whether the row is about this very version of the mosaic."""
        row, mosaic = self.row, self.mosaic
        if row is None or mosaic is None:
            return False
        said = row.output_uri, row.bytes, row.etag, row.version_id
        return said == (mosaic.uri, mosaic.bytes, mosaic.etag, mosaic.version_id)

    @property
    def finished(self) -> MosaicResult | None:
        """The mosaic, where nothing that a run looks at is missing."""
        is_whole = self.item is not None and self.is_described and not self.missing
        return self.mosaic if is_whole else None


def finished(spec: JobSpec) -> MosaicResult | None:
    """The current mosaic of a job with no gap, or None where anything of it is missing.

    Changes nothing and reads no source pixel: item.json, the HEAD of the mosaic to which it
    leads, one query a shard. A preview that was deleted is for assembly and repair to notice.
    Raises ForeignObject where item or mosaic is not ours, or the item is of another mosaic, says
    otherwise than its plan, or is older than the mosaic's row.
    """
    session = open_session(spec)
    item = read_item(session, spec)
    if item is None:
        return None
    try:
        return _examined(session, spec, item).finished
    except OldSchema:  # preparing the job adds what it lacks
        return None


def examine(spec: JobSpec) -> Examined:
    """The same in its parts, also of a job that is not finished."""
    session = open_session(spec)
    return _examined(session, spec, read_item(session, spec))


def _examined(session: Session, spec: JobSpec, item: Item | None) -> Examined:
    job_id, run = spec.plan.job_id, Run("", "")
    names, row = outlined_names(session, spec)
    told = None if row is None else revision_of(session, job_id, str(row.output_uri))
    found = gaps.find_gaps(spec.plan.recipe.tiling(), names)
    if item is None:
        return Examined(None, told or 0, None, row, found.present, found.missing)
    if told is not None and told > item.revision:
        now = read_item(session, spec)
        if now != item:  # it was moved meanwhile
            return _examined(session, spec, now)
        raise ForeignObject(
            f"{session.store.object_uri(keys.item_key(job_id))} is not believed: "
            f"{older(item, told)}; see {command('verify', job_id, spec.place)}"
        )
    mosaic = standing(session, spec, run, item.revision)
    if mosaic is None:
        return Examined(item, item.revision, None, row, found.present, found.missing)
    check_describes(item, mosaic.stored, session.store.object_uri(keys.item_key(job_id)))
    said = result(session, spec, mosaic, item.revision)
    return Examined(item, item.revision, said, row, found.present, found.missing)

"""Whether a root's rows are another root's: they name theirs, so a copied root has none."""

from scenemosaic import keys
from scenemosaic.committing.commit import retrying
from scenemosaic.errors import MissingSchema
from scenemosaic.manifests.port import SeesOtherRoots
from scenemosaic.session import JobSpec, Session


def other_root(session: Session, spec: JobSpec) -> str | None:
    """Another root of which the manifest has rows of this job; None where it cannot look."""
    manifest, job_id = session.manifest, spec.plan.job_id
    if not isinstance(manifest, SeesOtherRoots):
        return None

    def look() -> str | None:
        try:
            return manifest.uri_elsewhere(job_id, session.partitions(spec))
        except MissingSchema:
            return None

    uri = retrying(look, session.policy, session.effects)
    return None if uri is None else _root_of(uri, job_id)


def _root_of(uri: str, job_id: str) -> str:
    """What stands before the key of one of the job's tiles or mosaics."""
    for key in (keys.tile_key(job_id, ""), keys.item_key(job_id)):
        folder = f"/{keys.folder_of(key)}"
        if folder in uri:
            return uri.rpartition(folder)[0]
    return uri

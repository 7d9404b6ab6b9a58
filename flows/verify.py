"""The flow ``verify-scene``: a verification, its findings as a table, and its gap map.

No postponed annotations in here: Prefect reads them as they stand.
"""

from prefect import flow
from prefect.artifacts import create_table_artifact
from prefect.client.schemas.objects import State
from prefect.states import Completed, Failed

from flows.forms.checked import checked
from flows.forms.parameters import JobId, Manifest, Readers, Store, To, Windows
from flows.forms.places import recorded_place
from flows.forms.run_names import job_run
from flows.reports.states import error_state
from flows.shown.gap_artifact import show_gap_map
from flows.shown.showing import TABLE_ROWS, optional
from scenemosaic.errors import SceneMosaicError
from scenemosaic.places import Place
from scenemosaic.verification.report import VerifyReport
from tasks.verify_job import verify_job


@flow(
    name="verify-scene",
    flow_run_name=job_run,
    persist_result=False,
    validate_parameters=False,  # by checked
)
@checked
def verify_scene(
    job_id: JobId,
    to: To = None,
    manifest: Manifest = None,
    store: Store = None,
    windows: Windows = None,
    deep: bool = False,
    workers: Readers = 8,
) -> "State[VerifyReport]":
    """Compare every tile and the mosaic of a job with their rows. Changes nothing.

    Args:
        job_id: The job's ID, all 32 hex digits of it.
        to: The root: a folder, s3://bucket/prefix, gs://… or az://…. Or give store.
        manifest: The manifest's URL, without a password; left out, the root's or the store's own.
        store: The name of a Scene Store block, instead of to.
        windows: Only these windows, such as 0007_0012, and not the mosaic.
        deep: Decode every block, too.
        workers: Objects read at once.
    """
    try:
        place = recorded_place(to, manifest, store)
        report = _verify(job_id, place, windows or [], deep, workers)
    except SceneMosaicError as error:
        return error_state(error, error)
    with optional(f"job {job_id}"):
        _show_table(report)
        if report.windows:
            show_gap_map(report.job_id, report.states())
    if report.is_sound:
        return Completed(name="Verified", message=report.summary, data=report)
    return Failed(name="VerificationFailed", message=report.summary, data=report)


def _verify(job_id: str, place: Place, names: list[str], deep: bool, workers: int) -> VerifyReport:
    report: VerifyReport = verify_job(job_id, place, names, deep, workers)
    return report


def _show_table(report: VerifyReport) -> None:
    create_table_artifact(
        table=[dict(finding.to_json()) for finding in report.findings[:TABLE_ROWS]],
        key=f"findings-{report.job_id}",
        description=f"Job {report.job_id}: {report.summary}",
    )

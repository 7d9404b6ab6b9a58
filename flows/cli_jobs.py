"""``scenemosaic assemble``, ``status`` and ``init``: the engine alone, without Prefect."""

import json
import uuid

from flows.cli_process import as_text
from flows.console import Console, shown
from flows.redact import public_manifest
from flows.stopwatch import Stopwatch
from flows.tally import Tally
from scenemosaic import job, keys
from scenemosaic.commit import retrying, system_effects
from scenemosaic.errors import SceneMosaicError
from scenemosaic.job import JobSpec, Run
from scenemosaic.manifests import open_manifest
from scenemosaic.retry import RetryPolicy
from scenemosaic.roots import Root, default_manifest, parse_manifest, parse_root
from scenemosaic.stores import open_store

ABORT_DAYS = 7


def assemble(job_id: str, to: str, manifest: str | None, console: Console) -> int:
    """The gap check and the assembly of a job whose windows are committed."""
    spec = job.load_job(job_id, to, manifest)
    watch, progress = Stopwatch(), console.progress()
    tally = Tally(len(spec.plan.recipe.tiling()), progress)
    mosaic, failure = None, None
    name = f"cli-{uuid.uuid4()}"
    try:
        with watch.stage("gap check", progress):
            tally.check(job.find_gaps(spec))
        with watch.stage("assembly", progress):
            mosaic = job.assemble(spec, Run(run_id=name, written_by=name), progress.copied)
    except SceneMosaicError as error:
        failure = error
    finally:
        progress.close()
    report = tally.report(job_id, mosaic, failure, tuple(watch.stages), watch.seconds)
    if failure is not None:
        return console.fail(failure, report.to_json())
    console.answer(report.to_json(), as_text(report))
    return report.exit_code


def status(job_id: str, to: str, manifest: str | None, console: Console) -> int:
    """How far a job is. Changes nothing."""
    spec = job.load_job(job_id, to, manifest)
    gaps = job.find_gaps(spec)
    found = _published(spec)
    value: dict[str, object] = {
        "job_id": job_id,
        "root": spec.root,
        "windows": gaps.windows,
        "rows": gaps.present,
        "missing": list(gaps.missing),
        **found,
        "finished": not gaps.missing and all(found.values()),
    }
    lines = [f"job      {job_id}", f"windows  {gaps.present} of {gaps.windows} have a row"]
    if gaps.missing:
        lines.append(f"missing  {' '.join(gaps.missing)}")
    lines += [f"{name:8} {shown(uri) if uri else 'not there'}" for name, uri in found.items()]
    console.answer(value, "\n".join(lines))
    return 0


def _published(spec: JobSpec) -> dict[str, str | None]:
    store, job_id = open_store(spec.root), spec.plan.job_id
    places = {
        "mosaic": keys.mosaic_key(job_id),
        "preview": keys.preview_key(job_id),
        "item": keys.item_key(job_id),
    }
    try:
        return {
            name: store.object_uri(key) if store.head(key) else None for name, key in places.items()
        }
    finally:
        store.close()


def initialise(to: str, manifest: str | None, console: Console) -> int:
    """Make the manifest's table or schema, and say which lifecycle rule the root needs."""
    root = parse_root(to)
    url = parse_manifest(manifest or default_manifest(root)).url
    rows = open_manifest(url)
    try:
        made = retrying(rows.ensure, RetryPolicy(), system_effects())
    finally:
        rows.close()
    rule = lifecycle(root)
    shown_url = public_manifest(url)
    value = {"root": root.uri, "manifest": shown_url, "made": made, "lifecycle": rule}
    lines = [f"manifest {shown_url} {'was made' if made else 'was there already'}"]
    if rule is not None:
        lines += [
            f"The bucket {root.bucket} needs this lifecycle rule, beside those that it has:",
            "it ends multipart uploads that a killed run left open, which are billed for ever.",
            json.dumps(rule, indent=2),
        ]
    console.answer(value, "\n".join(lines))
    return 0


def lifecycle(root: Root) -> dict[str, object] | None:
    """S3's rule that aborts incomplete multipart uploads under the root after seven days."""
    if root.scheme != "s3":
        return None
    return {
        "Rules": [
            {
                "ID": "scenemosaic-abort-incomplete-uploads",
                "Status": "Enabled",
                "Filter": {"Prefix": f"{root.prefix}/" if root.prefix else ""},
                "AbortIncompleteMultipartUpload": {"DaysAfterInitiation": ABORT_DAYS},
            }
        ]
    }

"""``scenemosaic assemble``, ``status``, ``jobs``, ``init``: the engine alone, without Prefect."""

import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from flows import jobs_text
from flows.cli_process import as_text
from flows.console import Console, shown
from flows.redact import public_manifest
from flows.runs import command_run
from flows.stopwatch import Stopwatch
from flows.tally import Tally
from scenemosaic import job, keys
from scenemosaic.committing.commit import retrying, system_effects
from scenemosaic.errors import ForeignObject, SceneMosaicError
from scenemosaic.job import JobSpec
from scenemosaic.manifests import open_manifest
from scenemosaic.next_step import command
from scenemosaic.places import Place, StorePlace
from scenemosaic.plans.listing import list_jobs
from scenemosaic.policy.bucket import lifecycle
from scenemosaic.publishing.item import read_item
from scenemosaic.publishing.pointer import read_latest
from scenemosaic.publishing.published import head
from scenemosaic.roots import parse_root
from scenemosaic.session import open_session
from scenemosaic.verification.other_root import other_root
from scenemosaic.waiting.retry import RetryPolicy
from scenemosaic.words import counted


def assemble(job_id: str, place: Place, console: Console) -> int:
    """The gap check and the assembly of a job whose windows are committed."""
    spec = job.load_at(job_id, place)
    watch, progress = Stopwatch(), console.progress()
    tally = Tally(len(spec.plan.recipe.tiling()), progress)
    mosaic, failure = None, None
    run = command_run()
    try:
        with watch.stage("gap check", progress):
            tally.check(job.find_gaps(spec), _compute(spec))
        with watch.stage("assembly", progress):
            mosaic = job.assemble(spec, run, progress.copied)
            tally.trace(mosaic.trace)
            job.record_rest(spec, run, tally.unrecorded)
    except SceneMosaicError as error:
        failure = error
    finally:
        progress.close()
    report = tally.report(job_id, mosaic, failure, tuple(watch.stages), watch.seconds)
    if failure is not None:
        return console.fail(failure, report.to_json())
    console.answer(report.to_json(), as_text(report))
    return report.exit_code


def _compute(spec: JobSpec) -> str:
    repair = command("repair", spec.plan.job_id, spec.place)
    return f"assemble computes no window: run scenemosaic process SOURCE again, or {repair}"


def status(job_id: str, place: Place, console: Console) -> int:
    """How far a job is. Changes nothing; the exit code is 0 whatever was found."""
    spec = job.load_at(job_id, place)
    gaps = job.find_gaps(spec)
    found = _published(spec)
    pointed, latest = _latest(spec)
    finished = not gaps.missing and all(found.values())
    value: dict[str, object] = {
        "job_id": job_id,
        "title": spec.plan.title,
        "root": spec.root,
        "windows": gaps.windows,
        "rows": gaps.present,
        "missing": list(gaps.missing),
        **found,
        "finished": finished,
        "latest": pointed,
    }
    lines = [f"job      {job_id}", f"windows  {gaps.present} of {gaps.windows} with a row"]
    if spec.plan.title is not None:
        lines.insert(1, f"title    {spec.plan.title}")
    if gaps.missing:
        lines.append(f"missing  {' '.join(gaps.missing)}")
    lines += [f"{name:8} {shown(uri) if uri else 'not there'}" for name, uri in found.items()]
    if found["mosaic"] and not found["mosaic"].endswith(keys.mosaic_key(job_id)):
        lines.append(
            "         (item.json leads there; earlier mosaics stay, and are named no longer)"
        )
    lines.append(f"latest   {latest}")
    lines.append(
        "finished" if finished else f"not finished: {_next(spec, len(gaps.missing), found)}"
    )
    console.answer(value, "\n".join(lines))
    return 0


def _next(spec: JobSpec, missing: int, found: Mapping[str, str | None]) -> str:
    """What an unfinished job lacks, and the command that makes it."""
    said = partial(command, job_id=spec.plan.job_id, place=spec.place)
    if found["item"] is not None:  # it was finished once
        lost = [counted(missing, "row")] if missing else []
        lost += [name for name, uri in found.items() if uri is None]
        no_row = missing == len(spec.plan.recipe.tiling())
        other = other_root(open_session(spec), spec) if no_row else None
        said_root = f"; its rows are of another root, {other}" if other else ""
        return f"gone since it was: {' and '.join(lost)}{said_root}; run {said('repair')}"
    if missing:
        return f"run scenemosaic process SOURCE again for {counted(missing, 'window')}"
    return f"every window has a row; run {said('assemble')}"


def _latest(spec: JobSpec) -> tuple[bool | None, str]:
    """Whether ``latest.json`` names this job, and how to say it; None where it is unreadable."""
    try:
        latest = read_latest(open_session(spec).store)
    except ForeignObject as error:
        return None, str(error)
    if latest is None:
        return False, "nothing was published here yet"
    if latest.target.job_id != spec.plan.job_id:
        return False, f"names another job, {latest.target.job_id}"
    return True, f"names this job, revision {latest.target.pinned.revision}"


def _published(spec: JobSpec) -> dict[str, str | None]:
    session, job_id = open_session(spec), spec.plan.job_id
    item = read_item(session, spec)
    revision = 0 if item is None else item.revision
    places = {
        "mosaic": keys.mosaic_key(job_id, revision),
        "preview": keys.preview_key(job_id, revision),
    }
    found = {key: head(session, key) is not None for key in places.values()}
    uris = {name: session.store.object_uri(key) for name, key in places.items() if found[key]}
    item_uri = session.store.object_uri(keys.item_key(job_id)) if item else None
    return {name: uris.get(name) for name in places} | {"item": item_uri}


def jobs(store: StorePlace, limit: int, console: Console) -> int:
    """The root's newest jobs. The exit code is 0, also where a plan is damaged."""
    listing = list_jobs(store, limit)
    console.answer(jobs_text.as_json(listing), jobs_text.as_text(listing))
    return 0


def initialise(place: Place, console: Console) -> int:
    """Make the manifest's table or schema, and say which lifecycle rule the root needs."""
    root, url = parse_root(place.store.root), place.manifest.url
    new = root.scheme == "file" and not Path(root.prefix).exists()
    rows = open_manifest(url, place.manifest.access)
    try:
        made = retrying(rows.ensure, RetryPolicy(), system_effects())
    finally:
        rows.close()
    rule = lifecycle(root)
    shown_url = public_manifest(url)
    value = {"root": root.uri, "manifest": shown_url, "made": made, "lifecycle": rule}
    lines = [f"root     {root.prefix} is a new folder"] if new else []
    lines.append(f"manifest {shown_url} {'was made' if made else 'was there already'}")
    if rule is not None:
        lines += [
            f"The bucket {root.bucket} needs this lifecycle rule, beside those that it has:",
            "it ends multipart uploads that a killed run left open, which are billed for ever.",
            json.dumps(rule, indent=2),
        ]
    console.answer(value, "\n".join(lines))
    return 0

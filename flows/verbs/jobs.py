"""``scenemosaic assemble``, ``status``, ``jobs``, ``init``: the engine alone, without Prefect."""

import json
import logging
from collections.abc import Mapping
from contextlib import closing
from functools import partial

from flows.redact import public_manifest
from flows.runs import command_run
from flows.scenes.stopwatch import Stopwatch
from flows.scenes.tally import Tally
from flows.terminal.console import Console, shown
from flows.texts import jobs as jobs_text
from flows.verbs.process import as_text
from scenemosaic import job, keys
from scenemosaic.committing.commit import retrying, system_effects
from scenemosaic.errors import ForeignObject, SceneMosaicError
from scenemosaic.job import JobSpec
from scenemosaic.manifests import open_manifest
from scenemosaic.next_step import command
from scenemosaic.places import Place, StorePlace
from scenemosaic.plans.listing import list_jobs
from scenemosaic.policy.bucket import lifecycle
from scenemosaic.publishing.finished import Examined, examine
from scenemosaic.publishing.item import is_as_written
from scenemosaic.publishing.pointer import read_latest
from scenemosaic.publishing.published import head
from scenemosaic.roots import is_there, parse_root
from scenemosaic.session import open_session
from scenemosaic.stores import open_store
from scenemosaic.verification.other_root import other_root
from scenemosaic.waiting.retry import RetryPolicy
from scenemosaic.words import counted

_log = logging.getLogger(__name__)


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
    """How far a job is. Changes nothing; the exit code is 0 also where it is not finished.

    Raises PlanLost, ForeignObject where its item or mosaic is not to be believed, StoreError.
    """
    spec = job.load_at(job_id, place)
    job_found = examine(spec)
    found, sound = _files(spec, job_found), _is_sound(spec, job_found)
    pointed, latest = _latest(spec)
    finished = job_found.finished is not None and all(found.values()) and sound
    windows = job_found.present + len(job_found.missing)
    value: dict[str, object] = {
        "job_id": job_id,
        "title": spec.plan.title,
        "root": spec.root,
        "windows": windows,
        "rows": job_found.present,
        "missing": list(job_found.missing),
        **found,
        "finished": finished,
        "latest": pointed,
    }
    lines = [f"job      {job_id}", f"windows  {job_found.present} of {windows} with a row"]
    if spec.plan.title is not None:
        lines.insert(1, f"title    {spec.plan.title}")
    if job_found.missing:
        lines.append(f"missing  {' '.join(job_found.missing)}")
    lines += [f"{name:8} {shown(uri) if uri else 'not there'}" for name, uri in found.items()]
    if found["item"] and job_found.revision:
        lines.append(
            "         (item.json leads there; earlier mosaics stay, and are named no longer)"
        )
    lines.append(f"latest   {latest}")
    lines.append(
        "finished" if finished else f"not finished: {_next(spec, job_found, found, sound)}"
    )
    console.answer(value, "\n".join(lines))
    return 0


def _is_sound(spec: JobSpec, job_found: Examined) -> bool:
    item = job_found.item
    return item is None or is_as_written(open_session(spec), spec, item)


def _next(
    spec: JobSpec, job_found: Examined, found: Mapping[str, str | None], is_sound: bool
) -> str:
    """What an unfinished job lacks, and the command that makes it."""
    said = partial(command, job_id=spec.plan.job_id, place=spec.place)
    missing, row = len(job_found.missing), job_found.row
    if found["item"] or found["mosaic"] or row is not None:  # it was finished once, or nearly
        lost = [counted(missing, "row")] if missing else []
        lost += [] if row is not None or missing == _windows(spec) else ["the mosaic's row"]
        lost += [name for name, uri in found.items() if uri is None]
        gone = f"gone since it was: {' and '.join(lost)}"
        other = other_root(open_session(spec), spec) if missing == _windows(spec) else None
        said_root = f"; its rows are of another root, {other}" if other else ""
        old = "its mosaic's row is of another version of it"
        if not is_sound:
            old = "item.json was changed since it was written"
        return f"{gone if lost else old}{said_root}; run {said('repair')}"
    if missing:
        return f"run scenemosaic process SOURCE again for {counted(missing, 'window')}"
    return f"every window has a row; run {said('assemble')}"


def _windows(spec: JobSpec) -> int:
    return len(spec.plan.recipe.tiling())


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


def _files(spec: JobSpec, found: Examined) -> dict[str, str | None]:
    """Where mosaic, preview and item are, of those that are there."""
    session, job_id = open_session(spec), spec.plan.job_id
    places = {
        "mosaic": keys.mosaic_key(job_id, found.revision),
        "preview": keys.preview_key(job_id, found.revision),
    }
    uris = {
        name: session.store.object_uri(key)
        for name, key in places.items()
        if (name == "mosaic" and found.mosaic) or head(session, key) is not None
    }
    item_uri = session.store.object_uri(keys.item_key(job_id)) if found.item else None
    return {name: uris.get(name) for name in places} | {"item": item_uri}


def jobs(store: StorePlace, limit: int, console: Console) -> int:
    """The root's newest jobs. The exit code is 0, also where a plan is damaged."""
    listing, latest = list_jobs(store, limit), _latest_job(store)
    console.answer(jobs_text.as_json(listing, latest), jobs_text.as_text(listing, latest))
    return 0


def _latest_job(place: StorePlace) -> str | None:
    """The job that ``latest.json`` names, if that can be read."""
    with closing(open_store(place.root, place.access)) as store:
        try:
            latest = read_latest(store)
        except ForeignObject as error:
            _log.warning("which job is published is not known: %s", error)
            return None
    return None if latest is None else latest.target.job_id


def initialise(place: Place, console: Console) -> int:
    """Make the manifest's table or schema, and say which lifecycle rule the root needs."""
    root, url = parse_root(place.store.root), place.manifest.url
    new = not is_there(root)
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

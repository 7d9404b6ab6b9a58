"""``scenemosaic backfill``: many scenes in this process, or by a deployment's workers."""

import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flows.engines.engine import Engine
from flows.engines.limits import limits_of_each
from flows.forms.scene_parameters import limit_parameters
from flows.options.place import place_said
from flows.reports.backfill import BackfillReport, SceneRow
from flows.server.api import configured_api, ensure_api
from flows.terminal.console import Console, shown
from flows.terminal.progress import Progress, in_seconds
from scenemosaic.discovery.selection import Selection, find
from scenemosaic.errors import InputError
from scenemosaic.plans.plan import PlanOptions
from scenemosaic.sources.locations import is_stac

if TYPE_CHECKING:
    from flows.starting.launching import Launcher

_SHOWN = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What the user asked for."""

    scenes: tuple[str, ...]
    listed: str | None
    prefix: str | None
    stac: str | None
    since: str | None
    until: str | None
    collections: str | None
    asset: str | None
    at_most: int
    to: str | None
    manifest: str | None
    block: str | None
    at_once: int
    workers: int | None
    engine: Engine
    mode: Any
    attempt: int
    deployment: str | None
    dry_run: bool
    options: PlanOptions


def backfill(request: Request, console: Console) -> int:
    """Carry out every scene's job and say what became of each; the exit code."""
    limit_parameters(limits_of_each(request.workers, request.at_once, request.engine))
    place = place_said(request.to, request.manifest, request.block)
    found = find(selection(request))
    progress = console.progress()
    try:
        # Only now: bad usage needs no Prefect.
        from flows.starting.backfilling import Backfill
        from flows.starting.backfilling import backfill as carry_out
        from flows.starting.launch import Where

        wanted = Backfill(
            place,
            Where(request.to and place.store.root, request.manifest, request.block),
            request.options,
            request.at_once,
            request.mode,
            request.attempt,
            request.dry_run,
            request.engine,
        )
        launcher = _launcher(request, progress)
        report = carry_out(found, wanted, launcher, _Told(progress, len(found)))
    finally:
        progress.close()
    console.answer(report.to_json(), as_text(report))
    return report.exit_code


def selection(request: Request) -> Selection:
    """Which scenes. Raises InputError where that is not said in exactly one way."""
    listed = (*request.scenes, *_lines(request.listed))
    ways = (bool(listed), request.prefix is not None, request.stac is not None)
    if sum(ways) != 1:
        raise InputError("give scenes (SOURCE, --list), or --prefix, or --stac, and only one")
    of_items = request.stac or any(map(is_stac, listed))
    if (request.collections and not request.stac) or (request.asset and not of_items):
        raise InputError("--collections and --asset belong to --stac")
    if listed and (request.since or request.until):
        raise InputError("--since and --until belong to --prefix and --stac")
    since, until = _day(request.since, "--since"), _day(request.until, "--until")
    if since and until and until < since:
        raise InputError(f"--until {until} is before --since {since}: swap them")
    return Selection(
        scenes=listed,
        prefix=request.prefix,
        stac=request.stac,
        collections=tuple(filter(None, (request.collections or "").split(","))),
        asset=request.asset,
        since=since,
        until=until,
        at_most=request.at_most,
    )


def _lines(name: str | None) -> list[str]:
    """The scenes of a list: a line each, none for empty lines and for those with # in front."""
    if name is None:
        return []
    try:
        text = sys.stdin.read() if name == "-" else Path(name).read_text()
    except (OSError, UnicodeDecodeError) as error:
        said = (error.strerror or "") if isinstance(error, OSError) else "it is no UTF-8 text"
        raise InputError(f"--list {name} cannot be read: {said}") from error
    lines = [line.strip() for line in text.removeprefix("\ufeff").splitlines()]
    return [line for line in lines if line and not line.startswith("#")]


def _day(text: str | None, option: str) -> date | None:
    try:
        return None if text is None else date.fromisoformat(text)
    except ValueError as error:
        raise InputError(f"{option} {text!r} is no day such as 2024-05-01") from error


def _launcher(request: Request, progress: Progress) -> "Launcher":
    from flows.in_process import quiet_prefect
    from flows.starting.launching import Deployed, in_process

    def prepare() -> None:
        ensure_api(progress.say)
        quiet_prefect()

    if request.deployment is None:
        return in_process(request.workers, request.at_once, request.engine, prepare)
    if configured_api() is None:
        raise InputError("--deployment needs Prefect's server: set PREFECT_API_URL to it")
    prepare()
    return Deployed(request.deployment)


class _Told:
    """A line for each scene as it ends, on stderr: there alone with what is wrong."""

    def __init__(self, progress: Progress, total: int) -> None:
        self._say: Callable[[str], None] = progress.say
        self._total = total
        self._lock = threading.Lock()
        self._done = 0

    def __call__(self, row: SceneRow) -> None:
        with self._lock:
            self._done += 1
            self._say(f"{self._done} of {self._total}  {row.state:16} {_with_reason(row)}")


def _with_reason(row: SceneRow) -> str:
    """The scene, and why it has no mosaic, where it has none."""
    name, detail = shown(row.scene), " ".join(row.detail.split())
    if not row.exit_code:
        return name
    return detail if detail.startswith(name) else f"{name}: {detail}"


def as_text(report: BackfillReport) -> str:
    """The result for people."""
    rows = report.rows[:_SHOWN]
    width = max((len(row.state) for row in rows), default=0)
    lines = [
        f"{row.state:{width}}  {row.job_id or '-' * 32}  {_with_reason(row)}"
        + ("" if row.exit_code else f"  {row.detail}")
        for row in rows
    ]
    if (more := len(report.rows) - _SHOWN) > 0:
        lines.append(f"… and {more} more; --json names them all")
    return "\n".join([*lines, f"result   {report.summary} ({in_seconds(report.seconds)})"])

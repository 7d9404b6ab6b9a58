"""What a flow run is called in Prefect's lists: the scene or the job, and where it goes."""

from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any, Final
from urllib.parse import unquote

from prefect.context import FlowRunContext
from pydantic import BaseModel

from flows.redact import public_source

MOST_CHARS: Final = 200


def scene_name(sources: Sequence[str]) -> str:
    """``a.tif``, or ``a.tif and 3 more``."""
    first = unquote(PurePosixPath(public_source(sources[0])).name) if sources else ""
    more = f" and {len(sources) - 1} more" if len(sources) > 1 else ""
    return f"{first or 'scene'}{more}"


def process_name(sources: Sequence[str], to: str | None, store: str | None) -> str:
    """What a ``process-scene`` run is called."""
    return f"{scene_name(sources)} → {store or _short(to)}"[:MOST_CHARS]


def process_run() -> str:
    """The name of the ``process-scene`` run that begins now."""
    given = _parameters()
    return process_name(_texts(given.get("sources")), given.get("to"), given.get("store"))


def job_run() -> str:
    """The name of a run on a job that begins now: its ID's first digits tell it from others."""
    given = _parameters()
    return f"job {str(given.get('job_id', ''))[:8]} at {_place(given)}"[:MOST_CHARS]


def backfill_run() -> str:
    """The name of the backfill that begins now: what it selects, and where that goes."""
    given = _parameters()
    return f"{_selected(given.get('scenes'))} → {_place(given)}"[:MOST_CHARS]


def ingest_run() -> str:
    """The name of the scheduled ingest that begins now."""
    given = _parameters()
    return f"{given.get('name', '')}: {_selected(given.get('scenes'))} → {_place(given)}"[
        :MOST_CHARS
    ]


def events_run() -> str:
    """The name of a run that begins to listen to a queue now."""
    given = _parameters()
    queue = str(given.get("queue", "")).rstrip("/").rpartition("/")[2]
    return f"queue {queue} → {_place(given)}"[:MOST_CHARS]


def ledger_run() -> str:
    """The name of a run on a ledger that begins now."""
    given = _parameters()
    return f"ledger {given.get('ledger', '')} at {_place(given)}"[:MOST_CHARS]


def _selected(scenes: object) -> str:
    """A selection in a few words. Nobody has checked it yet."""
    given = scenes.model_dump() if isinstance(scenes, BaseModel) else scenes
    if not isinstance(given, Mapping):
        return "scenes"
    listed = _texts(given.get("scenes"))
    place = given.get("prefix") or given.get("stac")
    return scene_name(listed) if listed else public_source(str(place)) if place else "scenes"


def _place(given: Mapping[str, Any]) -> str:
    return str(given.get("store") or _short(given.get("to")))


def _short(root: object) -> str:
    """A root's last two parts; empty where none was given. Nobody has checked it yet."""
    parts = str(root or "").partition("?")[0].rstrip("/").split("/")
    return "/".join(part.rpartition("@")[2] for part in parts[-2:]).lstrip("/")


def _parameters() -> Mapping[str, Any]:
    context = FlowRunContext.get()
    return {} if context is None else dict(context.parameters or {})


def _texts(value: object) -> list[str]:
    """The sources, which nobody has checked yet."""
    return [str(one) for one in value] if isinstance(value, (list, tuple)) else []

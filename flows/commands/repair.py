"""``scenemosaic repair`` and ``waive``: their declarations."""

from typing import Any

import click

from flows.options.place import job_options
from flows.options.running import (
    JSON,
    POSITIVE,
    STRICT,
    VERBOSE,
    console_for,
    engine_choice,
)
from scenemosaic.places import Place


@click.command(short_help="Replace what is wrong, where it is as it was inspected.")
@job_options
@click.option(
    "--window",
    "names",
    multiple=True,
    metavar="R_C",
    help="This window, as 0007_0012.  [default: all that verification finds wrong]",
)
@click.option("--source", "sources", multiple=True, metavar="PATH", help="Where the source lies.")
@click.option(
    "--accept-new-source",
    is_flag=True,
    help="Where the source has changed, make a new job of it with the same recipe.",
)
@engine_choice
@click.option(
    "--workers",
    type=POSITIVE,
    help="Threads at once, or processes.  [default: one a core, at most 8; 2 processes]",
)
@STRICT
@VERBOSE
@JSON
def repair(
    job_id: str,
    place: Place,
    names: tuple[str, ...],
    sources: tuple[str, ...],
    accept_new_source: bool,
    engine: Any,
    workers: int | None,
    strict_history: bool,
    verbose: bool,
    as_json: bool,
) -> int:
    """Repair windows that are wrong, and publish the mosaic's next revision.

    A named window is computed again from its pinned source and compared. What somebody
    changed since it was inspected is left as it is (exit code 4). The published mosaic is
    never overwritten: the next revision has a place of its own. A plan.json that is gone or
    damaged is planned again from --source, and put back if it is the very job's.
    """
    from flows.engines.limits import limits_of
    from flows.verbs import repair as cli_repair

    limits = limits_of(workers, None, strict_history, engine)
    request = cli_repair.Request(job_id, place, names, sources, accept_new_source, limits)
    return cli_repair.repair(request, console_for(as_json, verbose))


@click.command(short_help="Let windows hold nodata whose source is bad for good.")
@click.option(
    "--window", "names", multiple=True, required=True, metavar="R_C", help="As 0007_0012."
)
@click.option("--reason", required=True, metavar="TEXT", help="Kept in row, audit log and item.")
@job_options
@click.option("--source", "sources", multiple=True, metavar="PATH", help="Where the source lies.")
@VERBOSE
@JSON
def waive(
    job_id: str,
    names: tuple[str, ...],
    reason: str,
    place: Place,
    sources: tuple[str, ...],
    verbose: bool,
    as_json: bool,
) -> int:
    """Let windows without a tile hold nodata, so that assembly can go on.

    `repair --window` computes such a window from its source again, and ends the waiver.
    """
    from flows.verbs import repair as cli_repair

    console = console_for(as_json, verbose)
    return cli_repair.waive(job_id, place, names, reason, sources, console)

"""``scenemosaic process``: its declaration. Heavy imports wait until it runs."""

from dataclasses import fields
from typing import Any

import click

from flows.cli_options import JSON, VERBOSE, console_for, process_options


@click.command()
@process_options
@VERBOSE
@JSON
def process(**given: Any) -> int:
    """Make the mosaic of one scene. Safe to repeat, and to run many times at once."""
    from flows import cli_process
    from flows.limits import Limits, default_workers
    from scenemosaic.plan import PlanOptions

    names = {field.name for field in fields(PlanOptions)}
    options = PlanOptions(**{name: value for name, value in given.items() if name in names})
    per_task = given["windows_per_task"]
    limits = Limits(
        given["workers"] or default_workers(),
        None if per_task == "auto" else per_task,
        given["strict_history"],
    )
    request = cli_process.Request(given["sources"], given["place"], options, limits)
    run = cli_process.dry_run if given["dry_run"] else cli_process.process
    return run(request, console_for(given["as_json"], given["verbose"]))

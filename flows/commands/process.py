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
    """Make one mosaic, of one source or several. Safe to repeat, and to run many times at once."""
    from flows import cli_process
    from scenemosaic.plans.plan import PlanOptions

    names = {field.name for field in fields(PlanOptions)}
    options = PlanOptions(**{name: value for name, value in given.items() if name in names})
    request = cli_process.Request(given["sources"], given["place"], options, given["limits"])
    run = cli_process.dry_run if given["dry_run"] else cli_process.process
    return run(request, console_for(given["as_json"], given["verbose"]))

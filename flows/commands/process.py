"""``scenemosaic process``: its declaration. Heavy imports wait until it runs."""

from dataclasses import fields
from typing import Any

import click

from flows.options.place import JOB_SAID, place_options, whole_job
from flows.options.recipe import recipe_options
from flows.options.running import JSON, STRICT, VERBOSE, console_for, engine_options


@click.command()
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...")
@place_options
@whole_job("reuse")
@recipe_options
@click.option(
    "--datetime",
    metavar="TIME",
    help="When the scene was taken: 2024-05-01T10:20:30Z, or a day (its noon, UTC).",
)
@click.option("--asset", metavar="NAME", help="Of a STAC item: the asset that is the scene.")
@click.option("--title", metavar="TEXT", help="What people call the mosaic.")
@click.option(
    "--reuse",
    metavar="JOB",
    help="An earlier job under the same root: its grid and options hold, and its tiles are "
    f"taken over where their sources are the same. JOB is its {JOB_SAID}.",
)
@STRICT
@click.option("--dry-run", is_flag=True, help="Print the plan and write nothing.")
@engine_options
@VERBOSE
@JSON
def process(**given: Any) -> int:
    """Make one mosaic, of one source or several. Safe to repeat, and to run many times at once."""
    from flows.verbs import process as cli_process
    from scenemosaic.plans.plan import PlanOptions

    names = {field.name for field in fields(PlanOptions)}
    options = PlanOptions(**{name: value for name, value in given.items() if name in names})
    request = cli_process.Request(given["sources"], given["place"], options, given["limits"])
    run = cli_process.dry_run if given["dry_run"] else cli_process.process
    return run(request, console_for(given["as_json"], given["verbose"]))

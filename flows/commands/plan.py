"""``scenemosaic plan``: its declaration."""

from dataclasses import fields
from typing import Any

import click

from flows.options.place import MANIFEST
from flows.options.recipe import recipe_options
from flows.options.running import JSON, VERBOSE, console_for, engine_options


@click.command(short_help="What a mosaic would take; writes nothing.")
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...")
@recipe_options
@engine_options
@click.option(
    "--to",
    metavar="ROOT",
    help="The root, which is not asked.  [default: s3://bucket/prefix, a placeholder]",
)
@MANIFEST
@click.option(
    "--explain",
    is_flag=True,
    help="Also memory, and what S3 and DynamoDB would be asked and cost.",
)
@click.option(
    "--ratio",
    type=click.FloatRange(0, 2, min_open=True),
    default=1.0,
    show_default=True,
    help="To which part of its raw bytes a block shrinks; 1 where nothing compresses.",
)
@click.option("--price", multiple=True, metavar="NAME=USD", help="put_1000, get_1000, …")
@VERBOSE
@JSON
def plan(**given: Any) -> int:
    """Plan a mosaic and say what it would take. Nothing is written, and no store is asked."""
    from flows.verbs import plan as cli_plan
    from scenemosaic.places import place_at
    from scenemosaic.plans.plan import PlanOptions

    names = {field.name for field in fields(PlanOptions)}
    options = PlanOptions(**{name: value for name, value in given.items() if name in names})
    to, manifest = given["to"], given["manifest"]
    asked = cli_plan.Asked(
        given["sources"],
        place_at(to or cli_plan.PLACEHOLDER, manifest),
        options,
        given["explain"],
        given["ratio"],
        given["price"],
        () if to else ("root",) if manifest else ("root", "manifest"),
    )
    console = console_for(given["as_json"], given["verbose"])
    return cli_plan.plan(asked, given["limits"], console)

"""``scenemosaic plan``: its declaration."""

from dataclasses import fields
from typing import Any

import click

from flows.options.place import BLOCK, MANIFEST, place_said
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
@BLOCK
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
    from scenemosaic.plans.plan import PlanOptions

    names = {field.name for field in fields(PlanOptions)}
    options = PlanOptions(**{name: value for name, value in given.items() if name in names})
    to, manifest, block = given["to"], given["manifest"], given["block"]
    is_said = to is not None or block is not None
    asked = cli_plan.Asked(
        given["sources"],
        place_said(to if is_said else cli_plan.PLACEHOLDER, manifest, block),
        options,
        given["explain"],
        given["ratio"],
        given["price"],
        () if is_said else ("root",) if manifest else ("root", "manifest"),
    )
    console = console_for(given["as_json"], given["verbose"])
    return cli_plan.plan(asked, given["limits"], console)

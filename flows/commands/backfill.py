"""``scenemosaic backfill``: its declaration."""

from dataclasses import fields
from typing import Any

import click

from flows.options.place import BLOCK, MANIFEST, TO
from flows.options.recipe import recipe_options
from flows.options.running import JSON, POSITIVE, VERBOSE, console_for, engine_choice


@click.command(short_help="Make the mosaics of many scenes.")
@click.argument("scenes", nargs=-1, metavar="[SOURCE]...")
@click.option("--list", "listed", metavar="FILE", help="One scene a line; - is standard input.")
@click.option("--prefix", metavar="URI", help="All below a folder or s3://bucket/prefix.")
@click.option("--stac", metavar="URL|FILE", help="A STAC API, or a file: item, items, catalog.")
@click.option("--since", metavar="DAY", help="From this day on: 2024-05-01.")
@click.option("--until", metavar="DAY", help="Up to this day, included.")
@click.option("--collections", metavar="ID,…", help="Of a STAC search.")
@click.option("--asset", metavar="NAME", help="The STAC item's asset that is the scene.")
@click.option("--at-most", type=POSITIVE, default=1000, show_default=True, help="So many scenes.")
@TO
@MANIFEST
@BLOCK
@recipe_options
@click.option("--at-once", type=click.IntRange(1, 50), default=2, show_default=True)
@engine_choice
@click.option(
    "--workers",
    type=POSITIVE,
    help="Threads a scene, or processes for all.  [default: what cores there are; 2 processes]",
)
@click.option(
    "--mode",
    type=click.Choice(["missing", "again"]),
    default="missing",
    show_default=True,
    help="again: also look at what is finished.",
)
@click.option("--attempt", type=POSITIVE, default=1, show_default=True, help="With --deployment.")
@click.option("--deployment", metavar="FLOW/NAME", help="Let its workers do it, not this process.")
@click.option("--dry-run", is_flag=True, help="Say what would run and write nothing.")
@VERBOSE
@JSON
def backfill(verbose: bool, as_json: bool, **given: Any) -> int:
    """Make the mosaic of every SOURCE, or of every scene that is listed, found or searched for.

    Safe to repeat: what is finished is not touched. A scene that cannot be used is said so,
    and stops no other: the exit code is then 3, or 2 where no scene can be used. --dry-run
    exits alike.
    """
    from flows.verbs import backfill as cli_backfill
    from scenemosaic.plans.plan import PlanOptions

    # The asset is chosen where scenes are found.
    names = {field.name for field in fields(PlanOptions)} - {"asset"}
    options = PlanOptions(**{name: given.pop(name) for name in names & given.keys()})
    request = cli_backfill.Request(**given, options=options)
    return cli_backfill.backfill(request, console_for(as_json, verbose))

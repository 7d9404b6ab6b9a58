"""``scenemosaic publish``: its declaration."""

from typing import Any

import click

from flows.options.place import job_options
from flows.options.running import JSON, VERBOSE, console_for


@click.command(short_help="Let latest.json name a finished job's mosaic.")
@job_options
@click.option("--ledger", default="publish", show_default=True, metavar="NAME", help="Its ledger.")
@click.option("--slots", type=int, default=1, show_default=True, help="Publications a day.")
@click.option(
    "--time-zone", default="UTC", show_default=True, metavar="ZONE", help="Europe/Berlin, …"
)
@click.option("--approve", is_flag=True, help="Wait until a person resumes the Prefect run.")
@click.option(
    "--run-id", metavar="ID", help="Name the publication: given again, it goes on or finds it done."
)
@VERBOSE
@JSON
def publish(verbose: bool, as_json: bool, **given: Any) -> int:
    """Let mosaics/latest.json and catalog.json name the current mosaic of JOB.

    One publication at a time, and so many a day. A run that died while it held the ledger
    blocks the others until `scenemosaic ledger clear`.
    """
    from flows.verbs import publish as cli_publish

    return cli_publish.publish(cli_publish.Request(**given), console_for(as_json, verbose))

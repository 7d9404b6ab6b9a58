"""Commands on a job by its ID: their declarations."""

import click

from flows.options.place import job_options
from flows.options.running import JSON, VERBOSE, console_for
from scenemosaic.places import Place


@click.command(short_help="Check a job for gaps and assemble its mosaic.")
@job_options
@VERBOSE
@JSON
def assemble(job_id: str, place: Place, verbose: bool, as_json: bool) -> int:
    """Check a job for gaps and assemble its mosaic, without touching the windows."""
    from flows import cli_jobs

    return cli_jobs.assemble(job_id, place, console_for(as_json, verbose))


@click.command(short_help="Say how far a job is.")
@job_options
@VERBOSE
@JSON
def status(job_id: str, place: Place, verbose: bool, as_json: bool) -> int:
    """Say how far a job is: windows, rows, what is missing, what is published.

    Exit 0 says that it could look, not that the job is finished: its last line says that, and
    "finished" of --json.
    """
    from flows import cli_jobs

    return cli_jobs.status(job_id, place, console_for(as_json, verbose))

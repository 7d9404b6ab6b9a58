"""Commands on a job by its ID: their declarations."""

import click

from flows.cli_options import JSON, MANIFEST, TO, VERBOSE, console_for


@click.command(short_help="Check a job for gaps and assemble its mosaic.")
@click.argument("job_id", metavar="JOB")
@TO
@MANIFEST
@VERBOSE
@JSON
def assemble(job_id: str, to: str, manifest: str | None, verbose: bool, as_json: bool) -> int:
    """Check a job for gaps and assemble its mosaic, without touching the windows."""
    from flows import cli_jobs

    return cli_jobs.assemble(job_id, to, manifest, console_for(as_json, verbose))


@click.command(short_help="Say how far a job is.")
@click.argument("job_id", metavar="JOB")
@TO
@MANIFEST
@VERBOSE
@JSON
def status(job_id: str, to: str, manifest: str | None, verbose: bool, as_json: bool) -> int:
    """Say how far a job is: windows, rows, what is missing, what is published."""
    from flows import cli_jobs

    return cli_jobs.status(job_id, to, manifest, console_for(as_json, verbose))

"""Commands on a job by its ID, and the one that lists the IDs: their declarations."""

import click

from flows.options.place import job_options, store_options
from flows.options.running import JSON, POSITIVE, VERBOSE, console_for
from scenemosaic.places import Place, StorePlace


@click.command(short_help="Check a job for gaps and assemble its mosaic.")
@job_options
@VERBOSE
@JSON
def assemble(job_id: str, place: Place, verbose: bool, as_json: bool) -> int:
    """Check a job for gaps and assemble its mosaic, without touching the windows."""
    from flows.verbs import jobs as cli_jobs

    return cli_jobs.assemble(job_id, place, console_for(as_json, verbose))


@click.command(short_help="Say how far a job is.")
@job_options
@VERBOSE
@JSON
def status(job_id: str, place: Place, verbose: bool, as_json: bool) -> int:
    """Say how far a job is: windows, rows, what is missing, whether it is finished, and published.

    Exit 0 says that it could look, not that the job is finished: its last line says that, and
    "finished" of --json. Where it cannot: 2 for a damaged plan, 4 for an item or mosaic that is not
    to be believed, 5 for a manifest or store that does not answer.
    """
    from flows.verbs import jobs as cli_jobs

    return cli_jobs.status(job_id, place, console_for(as_json, verbose))


@click.command(short_help="List the jobs of a root, the newest first.")
@store_options
@click.option("--limit", type=POSITIVE, default=50, show_default=True, help="So many at most.")
@VERBOSE
@JSON
def jobs(store: StorePlace, limit: int, verbose: bool, as_json: bool) -> int:
    """List the jobs of a root, the newest first, from the plans in its store.

    A line has the ID, when the plan was written, whether the job is finished (its item is there)
    or published (latest.json names it), and what the plan says: title, item or source, size,
    windows, time. A damaged plan is a line, too.
    """
    from flows.verbs import jobs as cli_jobs

    return cli_jobs.jobs(store, limit, console_for(as_json, verbose))

"""``scenemosaic verify``: its declaration."""

import click

from flows.options.place import job_options
from flows.options.running import JSON, POSITIVE, VERBOSE, console_for
from scenemosaic.places import Place


@click.command(short_help="Compare tiles and mosaic with their rows.")
@job_options
@click.option(
    "--window", "names", multiple=True, metavar="R_C", help="Only this window, as 0007_0012."
)
@click.option("--deep", is_flag=True, help="Decode every block, too.")
@click.option(
    "--workers", type=POSITIVE, default=8, show_default=True, help="Objects read at once."
)
@VERBOSE
@JSON
def verify(
    job_id: str,
    place: Place,
    names: tuple[str, ...],
    deep: bool,
    workers: int,
    verbose: bool,
    as_json: bool,
) -> int:
    """Compare every tile and the mosaic with their rows, and find what is stray.

    Reads every byte once and changes nothing. Exit code 3 where anything is off. With
    --window only these windows are looked at, and not the mosaic.
    """
    from flows.verbs import verify as cli_verify

    request = cli_verify.Request(job_id, place, names, deep, workers)
    return cli_verify.verify(request, console_for(as_json, verbose))

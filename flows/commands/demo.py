"""``scenemosaic demo``: its declaration."""

from pathlib import Path

import click

from flows.options.running import JSON, POSITIVE, VERBOSE, console_for


@click.command(short_help="Make a scene and its mosaic, on this machine alone.")
@click.option(
    "--to",
    type=click.Path(path_type=Path),
    default=Path("scenemosaic-demo"),
    show_default=True,
    metavar="FOLDER",
)
@click.option("--size", type=POSITIVE, default=4096, show_default=True, help="Pixels a side.")
@VERBOSE
@JSON
def demo(to: Path, size: int, verbose: bool, as_json: bool) -> int:
    """Make a scene and run it on local files and SQLite: no account, no server, no network."""
    from flows.verbs import demo as cli_demo

    return cli_demo.demo(to, size, console_for(as_json, verbose))

"""``scenemosaic ledger``: its declarations."""

import click

from flows.options.place import store_options
from flows.options.running import JSON, VERBOSE, console_for
from scenemosaic.places import StorePlace


@click.group(short_help="Show a ledger, or clear a dead run from it.")
def ledger() -> None:
    """Who publishes, who did, and how a dead run is cleared away."""


@ledger.command(short_help="Say who holds the ledger, and what was published.")
@click.argument("name")
@store_options
@click.option("--max-age", metavar="AGE", help="Exit 4 where the active run is older: 2h, 30m.")
@click.option(
    "--time-zone", metavar="ZONE", help="Whose day is counted.  [default: the last publisher's]"
)
@VERBOSE
@JSON
def show(
    name: str,
    store: StorePlace,
    max_age: str | None,
    time_zone: str | None,
    verbose: bool,
    as_json: bool,
) -> int:
    """Show the active run and its age, the day's slots, and the history. Changes nothing.

    A ledger begins with its first publication; before that, there is none to show (exit 2).
    """
    from flows.verbs import ledger as cli_ledger

    return cli_ledger.show(name, store, max_age, time_zone, console_for(as_json, verbose))


@ledger.command(short_help="Clear a dead run from the ledger.")
@click.argument("name")
@store_options
@click.option("--run-id", required=True, metavar="ID", help="The active run's ID, exactly.")
@click.option("--reason", required=True, metavar="TEXT", help="Why: it is kept.")
@VERBOSE
@JSON
def clear(
    name: str, store: StorePlace, run_id: str, reason: str, verbose: bool, as_json: bool
) -> int:
    """Clear a run that died while it held the ledger, so that the next one can publish.

    Look first at the run itself, at `scenemosaic ledger show`, and at
    mosaics/latest.json. Its slot stays used, and it cannot come back.
    """
    from flows.verbs import ledger as cli_ledger

    return cli_ledger.clear(name, store, run_id, reason, console_for(as_json, verbose))

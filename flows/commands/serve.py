"""``scenemosaic serve`` and ``automations``: their declarations."""

import click

from flows.cli_options import JSON, POSITIVE, VERBOSE, console_for

NOTIFY = click.option(
    "--notify", metavar="SLUG/NAME", help="A saved notification block, such as slack-webhook/ops."
)


@click.command(short_help="Serve the deployments, from this process.")
@click.option("--limit", type=POSITIVE, default=10, show_default=True, help="Runs at once.")
@click.option("--port", type=POSITIVE, default=4200, show_default=True, help="Of a server made.")
@click.option("--automations", is_flag=True, help="Make the automations, too.")
@NOTIFY
@VERBOSE
@JSON
def serve(
    limit: int, port: int, automations: bool, notify: str | None, verbose: bool, as_json: bool
) -> int:
    """Register the blocks and serve every deployment until interrupted, schedules included.

    Without PREFECT_API_URL a Prefect server is started as well, on 127.0.0.1, and ended
    with this command; its records are kept in PREFECT_HOME.
    """
    from flows import cli_serve

    console = console_for(as_json, verbose)
    return cli_serve.serve(limit, port, automations or notify is not None, notify, console)


@click.command(short_help="Make the automations of Prefect's server.")
@NOTIFY
@VERBOSE
@JSON
def automations(notify: str | None, verbose: bool, as_json: bool) -> int:
    """Make, or bring back to what they should be, three automations: for incomplete jobs, for
    ledgers that are held for too long, and for runs that show no sign of life.
    """
    from flows import cli_serve

    return cli_serve.automations(notify, console_for(as_json, verbose))

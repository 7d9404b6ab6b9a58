"""``scenemosaic serve`` and ``automations``: their declarations."""

import click

from flows.options.running import JSON, POSITIVE, SERVER_PORT, VERBOSE, console_for
from flows.server.alive import LEAST_SILENCE_S, SILENCE, SILENCE_S

NOTIFY = click.option(
    "--notify", metavar="SLUG/NAME", help="A saved notification block, such as slack-webhook/ops."
)

SILENCED = click.option(
    "--silence",
    type=click.IntRange(min=LEAST_SILENCE_S),
    metavar="SECONDS",
    default=SILENCE_S,
    show_default=True,
    envvar=SILENCE,
    help="Without a sign of life, which runs give every 30 s, a run is taken for crashed.",
)


@click.command(short_help="Serve the deployments, from this process.")
@click.option("--limit", type=POSITIVE, default=10, show_default=True, help="Runs at once.")
@click.option(
    "--port",
    type=click.IntRange(1, 65535),
    default=SERVER_PORT,
    show_default=True,
    help="Of a server made; not of one that PREFECT_API_URL names.",
)
@click.option("--automations", is_flag=True, help="Make the automations, too.")
@NOTIFY
@SILENCED
@VERBOSE
@JSON
def serve(
    limit: int,
    port: int,
    automations: bool,
    notify: str | None,
    silence: int,
    verbose: bool,
    as_json: bool,
) -> int:
    """Register the blocks and serve every deployment until interrupted, schedules included.

    Without PREFECT_API_URL a Prefect server is started as well, on 127.0.0.1, and ended
    with this command; its records are kept in PREFECT_HOME. One that answers on --port
    already is used, and left running.
    """
    from flows.verbs import serve as cli_serve

    automated = cli_serve.Automated(notify, silence)
    wanted = automated if automations or notify is not None else None
    return cli_serve.serve(limit, port, wanted, console_for(as_json, verbose))


@click.command(short_help="Make the automations of Prefect's server.")
@NOTIFY
@SILENCED
@VERBOSE
@JSON
def automations(notify: str | None, silence: int, verbose: bool, as_json: bool) -> int:
    """Make, or bring back to what they should be, four automations: for incomplete jobs, for
    ledgers that are held for too long, for runs that show no sign of life, and for those that
    were taken by a worker and never began.
    """
    from flows.verbs import serve as cli_serve

    automated = cli_serve.Automated(notify, silence)
    return cli_serve.automations(automated, console_for(as_json, verbose))

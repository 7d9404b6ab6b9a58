"""Commands on a root: their declarations."""

import click

from flows.options.place import collected_options, root_options
from flows.options.running import JSON, POSITIVE, VERBOSE, console_for
from scenemosaic.places import ManifestPlace, Place, StorePlace


@click.command(short_help="Make the manifest's table or schema.")
@root_options
@VERBOSE
@JSON
def init(place: Place, verbose: bool, as_json: bool) -> int:
    """Make the manifest's table or schema, and print the lifecycle rule that the root needs."""
    from flows.verbs import jobs as cli_jobs

    return cli_jobs.initialise(place, console_for(as_json, verbose))


@click.command(short_help="List, and with --abort end, abandoned uploads.")
@collected_options
@click.option("--older-than", default="7d", show_default=True, metavar="AGE", help="7d, 12h, 30m.")
@click.option("--abort", is_flag=True, help="End them.")
@VERBOSE
@JSON
def gc(
    store: StorePlace,
    manifest: ManifestPlace | None,
    older_than: str,
    abort: bool,
    verbose: bool,
    as_json: bool,
) -> int:
    """List, and with --abort end, uploads under ROOT that a killed run left open.

    Under a local ROOT these are hidden files. Uploads that runs of this very root began count,
    but for those that a run holds in a living claim; what other roots or programs write below
    it is left alone.
    """
    from flows.verbs import gc as cli_gc

    return cli_gc.collect(store, manifest, older_than, abort, console_for(as_json, verbose))


@click.command(short_help="Prove that store and manifest enforce preconditions.")
@root_options
@click.option("--rounds", type=POSITIVE, default=40, show_default=True, help="Races a check.")
@click.option("--deadline", type=POSITIVE, default=600, show_default=True, metavar="SECONDS")
@click.option("--policy", is_flag=True, help="Try a plain write to ledger/, and warn if it lands.")
@VERBOSE
@JSON
def preflight(
    place: Place,
    rounds: int,
    deadline: int,
    policy: bool,
    verbose: bool,
    as_json: bool,
) -> int:
    """Prove, by racing writers, that store and manifest enforce preconditions.

    Refuses those that ignore one (exit 5), and says which. What it writes lies under a
    prefix of its own, and is taken away again by exact key and version. A local ROOT has to
    be there.
    """
    from flows.verbs import preflight as cli_preflight

    console = console_for(as_json, verbose)
    return cli_preflight.preflight(place, rounds, float(deadline), console, policy=policy)

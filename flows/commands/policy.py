"""``scenemosaic policy``: its declaration."""

import click

from flows.options.place import root_options
from flows.options.running import JSON, VERBOSE, console_for
from scenemosaic.places import Place

# Spelled here, since the engine is not imported for --help; a test holds both together.
ROLES = ("worker", "assembler", "repairer", "publisher", "operator")


@click.command(short_help="Print least-privilege policies for a root.")
@root_options
@click.option("--role", type=click.Choice(ROLES), help="Only this role's own.")
@click.option("--account", metavar="ID", help="The AWS account that the bucket belongs to.")
@VERBOSE
@JSON
def policy(
    place: Place,
    role: str | None,
    account: str | None,
    verbose: bool,
    as_json: bool,
) -> int:
    """Print least-privilege policies for ROOT and its manifest, and ask no service anything.

    Permissions of each role, a bucket policy that denies unconditional writes, deletions
    and public reading of all but mosaics/, lifecycle rules, and what the provider cannot
    enforce. docs/security.md explains them line by line.
    """
    from flows.verbs import policy as cli_policy

    return cli_policy.policy(place, role, account, console_for(as_json, verbose))

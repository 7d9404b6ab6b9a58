"""The commands' declarations: names, options and help. Nothing heavy is imported here."""

from collections.abc import Sequence
from typing import Final

import click

from flows.commands.backfill import backfill
from flows.commands.demo import demo
from flows.commands.jobs import assemble, jobs, status
from flows.commands.ledger import ledger
from flows.commands.plan import plan
from flows.commands.policy import policy
from flows.commands.process import process
from flows.commands.publish import publish
from flows.commands.repair import repair, waive
from flows.commands.roots import gc, init, preflight
from flows.commands.serve import automations, serve
from flows.commands.verify import verify

COMMANDS: Final[Sequence[click.Command]] = (
    process,
    plan,
    backfill,
    assemble,
    status,
    jobs,
    verify,
    repair,
    waive,
    init,
    demo,
    preflight,
    gc,
    policy,
    publish,
    ledger,
    serve,
    automations,
)

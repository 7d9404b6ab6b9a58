"""What automations are for, in a process of its own: ``python -m tests.flows.run_watched``.

Arguments: root, a spoilt scene, a whole one, the name of a ledger that somebody holds. An
incomplete job and a look at the ledger; then, once a line comes in, a run that never ends.
"""

import sys
import threading

from flows import cli
from flows.engines.limits import Limits
from flows.scenes.session import Session, Silent
from scenemosaic import job
from scenemosaic.job import PlanOptions
from tests.flows.scenes import BLOCK, WINDOW


class Hanging(Silent):
    """Lets no stage begin."""

    def stage(self, name: str) -> None:
        threading.Event().wait()


def main(root: str, spoilt: str, whole: str, ledger: str) -> None:
    size = ["--window", str(WINDOW), "--block-size", str(BLOCK)]
    code = cli.run(["process", spoilt, "--to", root, *size])
    assert code == 3, code
    # Only now: a command says first how Prefect is to be imported.
    from flows.starting.planned_run import process_planned
    from flows.watch_ledger import watch_ledger

    state = watch_ledger(root, ledger=ledger, max_age="0s", return_state=True)
    assert state.name == "LedgerStale", state
    sys.stdin.readline()
    spec = job.plan_job([whole], root, None, PlanOptions(WINDOW, BLOCK))
    process_planned(Session(spec, Hanging()), Limits(1))


if __name__ == "__main__":
    main(*sys.argv[1:])

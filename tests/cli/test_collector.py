"""What imports made is walked neither during the work nor as the interpreter ends."""

import subprocess
import sys

SCRIPT = """
import gc
from scenemosaic.machine import collector

collector.rest_while_importing()
importing = gc.get_threshold()[0]
kept = [[number] for number in range(50_000)]
collector.work()
working, frozen = gc.get_threshold()[0], gc.get_freeze_count()
later = [[number] for number in range(20_000)]
collector.leave()
print(importing > 10 * working, frozen >= 50_000, gc.get_freeze_count() - frozen >= 20_000)
"""


def test_the_collector_leaves_alone_what_stays() -> None:
    command = [sys.executable, "-c", SCRIPT]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["True"] * 3


def test_the_command_ends_without_walking_all_there_is() -> None:
    script = "import atexit, gc, sys; sys.argv[1:] = ['--version']\n"
    script += "atexit.register(lambda: print(gc.get_freeze_count() > 10_000))\n"
    script += "from flows.cli import main; main()"
    found = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert found.stdout.splitlines()[-1] == "True"

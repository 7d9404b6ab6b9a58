"""Whether a command imports Prefect: ``python -m tests.cli.loading ARGUMENTS`` says it last."""

import sys

from flows import cli

if __name__ == "__main__":
    cli.run(sys.argv[1:])
    print(f"\n{'prefect' in sys.modules}")

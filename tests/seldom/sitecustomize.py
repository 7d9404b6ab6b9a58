"""Read by each Python that tests start with this folder on its path, as it starts.

Its collector comes seldom: imports make hundreds of thousands of objects that stay, and a fifth
of the time that Prefect's server takes to start was spent on walking them.

Where runs are to be forks (tests/forked.py), what it starts Pythons with sees to that.
"""

import gc
import os
import sys

gc.set_threshold(100_000, 20, 20)
sys.executable = os.environ.get("SCENEMOSAIC_TESTS_PYTHON", sys.executable)

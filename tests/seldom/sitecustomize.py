"""Read by each Python that tests start with this folder on its path, as it starts.

Its collector comes seldom: imports make hundreds of thousands of objects that stay, and a fifth
of the time that Prefect's server takes to start was spent on walking them.
"""

import gc

gc.set_threshold(100_000, 20, 20)

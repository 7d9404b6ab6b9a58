"""A discrete-event simulation of many workers on one job: see :mod:`bench.simulate`."""

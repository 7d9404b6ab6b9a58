"""Loaded by each worker process of a Dask cluster of our own, before its first batch."""

import atexit
import logging
import os
import signal
import threading

from scenemosaic.machine.one_thread import one_thread_each


def dask_setup(worker: object) -> None:
    """Let the process end once what it has to say is said.

    To take the interpreter down takes seconds, after which Dask kills it, with a warning. What
    Prefect sends at its end is registered later than this, so it is sent before. Ctrl-C is for
    the command, which ends its cluster itself; that the scheduler is gone first is no error.
    """
    logging.getLogger("distributed.worker").setLevel(logging.CRITICAL)
    one_thread_each()
    atexit.register(os._exit, 0)
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)

"""Work side by side, a bounded number of pieces at a time."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

A = TypeVar("A")
B = TypeVar("B")


def in_parallel(work: Callable[[A], B], items: Iterable[A], workers: int) -> Iterator[B]:
    """``work`` of each item, in order. No more than twice ``workers`` items are held at once."""
    waiting: deque[Future[B]] = deque()
    with ThreadPoolExecutor(workers, thread_name_prefix="parallel") as pool:
        try:
            for item in items:
                waiting.append(pool.submit(work, item))
                if len(waiting) >= 2 * workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


@contextmanager
def beside(work: Callable[[], object]) -> Iterator[None]:
    """Do ``work`` in another thread while the block runs; what it raises is raised at its end.

    Where both raise, it is what the block raised.
    """
    with ThreadPoolExecutor(1, thread_name_prefix="beside") as pool:
        done = pool.submit(work)
        yield
        done.result()

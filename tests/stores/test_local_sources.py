"""What a copy holds open: each object once for all threads, and never too many."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from threading import Barrier, Thread
from types import SimpleNamespace
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenemosaic.stores import local_sources
from scenemosaic.stores.local_sources import Source, Sources

HELD = 3


class Opened:
    """Objects of any name, of which it is known which are open, and how often each was."""

    def __init__(self) -> None:
        self.now: set[str] = set()
        self.often: list[str] = []

    @contextmanager
    def __call__(self, key: str) -> Iterator[Source | None]:
        self.now.add(key)
        self.often.append(key)
        yield cast("Source", SimpleNamespace(descriptor=key))
        self.now.remove(key)


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.booleans()), max_size=40))
def test_what_is_in_use_stays_open_and_the_rest_are_few(asked: list[tuple[str, bool]]) -> None:
    opened = Opened()
    sources = Sources(opened)
    with pytest.MonkeyPatch.context() as patch, ExitStack() as used:
        patch.setattr(local_sources, "_HELD", HELD)
        in_use: list[str] = []
        for key, stays in asked:
            scope = used if stays and len(set(in_use)) < HELD - 1 else ExitStack()
            with scope if scope is not used else ExitStack():
                source = scope.enter_context(sources.using(key))
                assert source is not None
                assert str(source.descriptor) == key
                in_use += [key] if scope is used else []
                assert {key, *in_use} <= opened.now
            assert len(opened.now) <= HELD
    sources.close()
    assert not opened.now


def test_threads_share_what_is_open() -> None:
    opened, together = Opened(), Barrier(2)
    sources = Sources(opened)

    def use() -> None:
        for key in "abc":
            together.wait()
            with sources.using(key):
                together.wait()

    threads = [Thread(target=use) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert opened.often == ["a", "b", "c"]

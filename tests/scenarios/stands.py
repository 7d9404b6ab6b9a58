"""A store under test with its back door, and the faults that can be put in front of it."""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from scenemosaic.errors import TransientStoreError
from scenemosaic.stores.port import Answer, Condition, Store, WriteResult
from tests.faults.proxy import Fault, Proxy, once, seeded
from tests.faults.stores import Wrapper
from tests.faults.wire import Request
from tests.stores.doors import Door

QUICK = (Fault.RESET, Fault.ANSWER_500, Fault.ANSWER_503, Fault.CUT_REPLY)
Act = Callable[[], object]


class Faults(Protocol):
    """Each strikes the next write, or the next completion of a composed object."""

    def lose_reply(self, *, completion: bool = False) -> None: ...
    def conflict(self, *, completion: bool = False) -> None: ...
    def hold(self, *, completion: bool = False) -> None: ...
    def release(self) -> None: ...
    def lose_many(self, probability: float, seed: int) -> None: ...
    def before(self, act: Act) -> None: ...


@dataclass
class OnTheWire:
    """A proxy before a real server. Completions are told apart by ``is_completion``."""

    proxy: Proxy
    is_completion: Callable[[Request], bool]

    def _strike(self, fault: Fault, completion: bool) -> None:
        only = self.is_completion if completion else (lambda request: request.mutating)
        self.proxy.rule = once(fault, only)

    def lose_reply(self, *, completion: bool = False) -> None:
        self._strike(Fault.RESET, completion)

    def conflict(self, *, completion: bool = False) -> None:
        self._strike(Fault.REFUSE_409, completion)

    def hold(self, *, completion: bool = False) -> None:
        self._strike(Fault.HOLD, completion)

    def release(self) -> None:
        self.proxy.release()

    def lose_many(self, probability: float, seed: int) -> None:
        self.proxy.rule = seeded(probability, seed, QUICK)

    def before(self, act: Act) -> None:
        left = [act]

        def rule(request: Request) -> None:
            if left and self.is_completion(request):
                left.pop()()

        self.proxy.rule = rule


class InProcess(Wrapper):
    """The same for a store without a wire: faults between the adapter and its caller."""

    def __init__(self, inner: Store) -> None:
        super().__init__(inner)
        self._next: Fault | Act | None = None
        self._held: list[Act] = []
        self._rule: Callable[[Request], object] = lambda request: None
        self._lock = threading.Lock()

    def lose_reply(self, *, completion: bool = False) -> None:
        self._next = Fault.RESET

    def conflict(self, *, completion: bool = False) -> None:
        self._next = Fault.REFUSE_409

    def hold(self, *, completion: bool = False) -> None:
        self._next = Fault.HOLD

    def release(self) -> None:
        while self._held:
            self._held.pop()()

    def lose_many(self, probability: float, seed: int) -> None:
        self._rule = seeded(probability, seed, (Fault.RESET,))

    def before(self, act: Act) -> None:
        self._next = act

    def writing(
        self, key: str, condition: Condition, write: Callable[[Condition], WriteResult]
    ) -> WriteResult:
        with self._lock:
            fault, self._next = self._next, None
        fault = fault or self._rule(Request("PUT", key, "", {}))  # type: ignore[assignment]
        if fault is Fault.REFUSE_409:
            return WriteResult(Answer.RACING)
        if fault is Fault.HOLD:
            self._held.append(lambda: write(condition))
            raise TransientStoreError(f"{key}: timed out")
        if callable(fault):
            fault()
        result = write(condition)
        if fault is Fault.RESET:
            raise TransientStoreError(f"{key}: reply lost")
        return result


@dataclass(frozen=True)
class Stand:
    """``store`` is reached through the faults, ``direct`` and ``door`` are not."""

    name: str
    store: Store
    direct: Store
    door: Door
    faults: Faults
    versioned: bool
    proxy: Proxy | None = None

"""Keeps deliveries hidden while they are worked on, from one thread for all of them."""

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Final, Self

from scenemosaic.errors import StoreError
from scenemosaic.queues.port import Message, Queue

_BEATS: Final = 3  # a while hidden: two may be lost

_log = logging.getLogger(__name__)


class Heartbeat:
    """A context manager: beats while it is entered. Without a beat a message only comes twice."""

    def __init__(self, queue: Queue) -> None:
        self._queue = queue
        self._lock = threading.Lock()
        self._held: dict[str, Message] = {}
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stopped.set()
        self._thread.join()

    @contextmanager
    def keeping(self, message: Message) -> Iterator[None]:
        """Keep the delivery hidden for the length of a ``with`` block."""
        with self._lock:
            self._held[message.receipt] = message
        try:
            yield
        finally:
            with self._lock:
                self._held.pop(message.receipt, None)

    def beat(self) -> None:
        """Keep every delivery that is held."""
        with self._lock:
            held = list(self._held.values())
        for message in held:
            try:
                self._queue.keep(message)
            except StoreError as error:
                _log.warning("message %s may come twice: %s", message.message_id, error)

    def _run(self) -> None:
        while not self._stopped.wait(self._queue.hidden_s / _BEATS):
            self.beat()

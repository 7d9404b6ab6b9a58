"""A gate before every call of a store or manifest: who stands behind it decides what happens."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

EFFECTS = frozenset({"put", "compose", "insert", "replace", "ensure", "begin", "abort"})
CALLS = EFFECTS | {"head", "windows", "rows", "list", "ready"}


class Death(BaseException):
    """The worker ends here, as SIGKILL would end it: no handler of the product may stop it."""


@dataclass(frozen=True)
class Call:
    """One call that is about to be made; ``run`` makes it."""

    port: str
    verb: str
    target: str
    run: Callable[[], Any]

    @property
    def effect(self) -> bool:
        return self.verb in EFFECTS

    @property
    def conditional_write(self) -> bool:
        """What S3 may answer with a 409."""
        return self.port == "store" and self.verb in ("put", "compose")

    @property
    def cleans_up(self) -> bool:
        """What gc is for where it fails again and again."""
        return self.verb in ("abort", "uploads")

    def __str__(self) -> str:
        return f"{self.port}.{self.verb} {self.target}"


Gate = Callable[[Call], Any]


class Gated:
    """A store or manifest whose calls pass a gate, each being one request.

    Reads of ranges pass at once: objects of ours never change under an ETag.
    """

    def __init__(self, port: str, inner: Any, gate: Gate) -> None:
        self._port, self._inner, self._gate = port, inner, gate

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        if name not in CALLS and not (self._port == "manifest" and name == "get"):
            return found

        def call(*arguments: Any, **named: Any) -> Any:
            def run() -> Any:
                result = found(*arguments, **named)
                return list(result) if isinstance(result, Iterator) else result

            return self._gate(Call(self._port, name, _target(arguments), run))

        return call


def _target(arguments: tuple[Any, ...]) -> str:
    match arguments:
        case (str() as key, *_):
            return key
        case (row, *_):
            return str(getattr(row, "window", ""))
        case _:
            return ""

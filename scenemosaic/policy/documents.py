"""The form of AWS policy documents. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

VERSION = "2012-10-17"

Document = dict[str, object]
Condition = Mapping[str, Mapping[str, str | Sequence[str]]]


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement; ``everybody`` makes it one of a bucket policy, for every principal."""

    sid: str
    actions: tuple[str, ...]
    resources: tuple[str, ...]
    condition: Condition = field(default_factory=dict)
    effect: str = "Allow"
    everybody: bool = False

    def to_json(self) -> Document:
        return {
            "Sid": self.sid,
            "Effect": self.effect,
            **({"Principal": "*"} if self.everybody else {}),
            "Action": list(self.actions),
            "Resource": list(self.resources),
            **({"Condition": {k: dict(v) for k, v in self.condition.items()}}
               if self.condition else {}),
        }  # fmt: skip


def document(statements: Sequence[Statement]) -> Document:
    return {"Version": VERSION, "Statement": [one.to_json() for one in statements]}


def literal(text: str) -> str:
    """``text`` where a policy would take ``*``, ``?`` and ``$`` for more than themselves."""
    return "".join(f"${{{char}}}" if char in "*?$" else char for char in text)

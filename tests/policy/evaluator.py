"""AWS's evaluation of policies, as far as ours go: a denial wins, then an allowance, else no.

https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_evaluation-logic.html
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Policy = Mapping[str, Any]
Value = str | Sequence[str]


@dataclass(frozen=True)
class Ask:
    """One action on one resource; ``context`` holds its condition keys, absent where not sent."""

    action: str
    resource: str
    context: Mapping[str, Value] = field(default_factory=dict)


def is_allowed(ask: Ask, policies: Iterable[Policy]) -> bool:
    """Whether policies that all count for one principal let it do this."""
    effects = {effect for policy in policies for effect in effects_of(ask, policy)}
    return "Allow" in effects and "Deny" not in effects


def is_denied(ask: Ask, policy: Policy) -> bool:
    """Whether a policy forbids it by name, whatever else allows it."""
    return "Deny" in effects_of(ask, policy)


def effects_of(ask: Ask, policy: Policy) -> list[str]:
    return [one["Effect"] for one in policy["Statement"] if _matches(ask, one)]


def _matches(ask: Ask, statement: Mapping[str, Any]) -> bool:
    return (
        any(like(action, ask.action, ignore_case=True) for action in listed(statement["Action"]))
        and any(like(resource, ask.resource) for resource in listed(statement["Resource"]))
        and all(
            _holds(operator, key, listed(wanted), ask.context)
            for operator, keys in statement.get("Condition", {}).items()
            for key, wanted in keys.items()
        )
    )


def _holds(operator: str, key: str, wanted: list[str], context: Mapping[str, Value]) -> bool:
    found = listed(context[key]) if key in context else None
    if operator == "Null":
        return (found is None) == (wanted == ["true"])
    for_all = operator.startswith("ForAllValues:")
    operator = operator.removeprefix("ForAllValues:")
    if operator.endswith("IfExists"):
        if found is None:
            return True
        operator = operator.removesuffix("IfExists")
    if found is None:
        # A negated operator holds where there is no such key; ForAllValues holds, too.
        return for_all or "Not" in operator
    match = _OPERATORS[operator]
    if for_all:
        return all(any(match(one, value) for one in wanted) for value in found)
    if "Not" in operator:
        return all(match(one, value) for value in found for one in wanted)
    return any(match(one, value) for value in found for one in wanted)


def like(pattern: str, text: str, *, ignore_case: bool = False) -> bool:
    """Whether ``*``, ``?`` and the variables for these characters themselves match."""
    parts = re.split(r"(\$\{[*?$]\}|[*?])", pattern)
    regex = "".join(
        ".*" if part == "*" else "." if part == "?" else re.escape(_literal(part)) for part in parts
    )
    return re.fullmatch(regex, text, re.DOTALL | (re.IGNORECASE if ignore_case else 0)) is not None


def _literal(part: str) -> str:
    return part[2] if re.fullmatch(r"\$\{[*?$]\}", part) else part


_OPERATORS = {
    "StringEquals": lambda wanted, value: wanted == value,
    "StringNotEquals": lambda wanted, value: wanted != value,
    "StringLike": like,
    "Bool": lambda wanted, value: wanted == value,
}


def listed(value: Value) -> list[str]:
    return [value] if isinstance(value, str) else list(value)

"""An expression as a tree, and its one spelling."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

# How tightly each operator binds, as in Python.
BINDING: Final = {
    "or": 1,
    "and": 2,
    "not": 3,
    **dict.fromkeys(("<", "<=", ">", ">=", "==", "!="), 4),
    **dict.fromkeys(("+", "-"), 5),
    **dict.fromkeys(("*", "/"), 6),
    "neg": 7,
    "**": 8,
}
_ATOM: Final = 9
_PREFIX: Final = {"neg": "-", "not": "not "}
_EXACT: Final = 2**53


@dataclass(frozen=True, slots=True)
class Number:
    """A finite number, or NaN: no value."""

    value: float


@dataclass(frozen=True, slots=True)
class Band:
    """A band of the source, numbered from 1."""

    number: int


@dataclass(frozen=True, slots=True)
class Call:
    """An operator of :data:`BINDING`, or a function, with its arguments."""

    name: str
    arguments: "tuple[Node, ...]"


Node = Number | Band | Call


def bands_of(node: Node) -> frozenset[int]:
    """The numbers of the bands that the tree names."""
    return frozenset(_bands(node))


def _bands(node: Node) -> Iterator[int]:
    if isinstance(node, Band):
        yield node.number
    if isinstance(node, Call):
        for argument in node.arguments:
            yield from _bands(argument)


def spelled(node: Node) -> str:
    """The tree as text: one spelling for one tree, with no parenthesis that is not needed."""
    if isinstance(node, Number):
        return _number(node.value)
    if isinstance(node, Band):
        return f"b{node.number}"
    if node.name not in BINDING:
        return f"{node.name}({', '.join(map(spelled, node.arguments))})"
    if len(node.arguments) == 1:
        return _PREFIX[node.name] + _within(node.arguments[0], BINDING[node.name])
    left, right = node.arguments
    left_least, right_least = _least(node.name)
    return f"{_within(left, left_least)} {node.name} {_within(right, right_least)}"


def _least(name: str) -> tuple[int, int]:
    """How tightly the operands of a binary operator have to bind to stand without parentheses."""
    binding = BINDING[name]
    if name == "**":  # of its right side first
        return _ATOM, BINDING["neg"]
    if binding == BINDING["=="]:  # a chain would mean something else
        return binding + 1, binding + 1
    return binding, binding + 1


def _within(node: Node, least: int) -> str:
    binding = BINDING.get(node.name, _ATOM) if isinstance(node, Call) else _ATOM
    return spelled(node) if binding >= least else f"({spelled(node)})"


def _number(value: float) -> str:
    whole = value.is_integer() and abs(value) < _EXACT
    return str(int(value)) if whole else repr(value)

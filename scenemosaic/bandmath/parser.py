"""Text becomes expressions, or is refused at its place. Nothing of it is ever run as Python."""

import ast
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NoReturn

from scenemosaic.bandmath.tree import Band, Call, Node, Number, spelled
from scenemosaic.errors import InputError

MAX_CHARS: Final = 4000
MAX_DEPTH: Final = 100
MAX_EXPRESSIONS: Final = 256
MAX_EXPONENT: Final = 64
# Each function with the least and the greatest number of its arguments.
FUNCTIONS: Final = {
    "abs": (1, 1),
    "clip": (3, 3),
    "exp": (1, 1),
    "floor": (1, 1),
    "log": (1, 1),
    "log10": (1, 1),
    "max": (2, 16),
    "min": (2, 16),
    "round": (1, 1),
    "sqrt": (1, 1),
    "where": (3, 3),
}
ALLOWED: Final = (
    "allowed are bands (b1, b2, ...), numbers, nan, + - * / **, < <= > >= == !=, and, or, not, "
    f"parentheses and {', '.join(FUNCTIONS)}"
)
_FOREIGN: Final = re.compile(r"[^\w\s.,;()+\-*/<>=!]|[^\x00-\x7f]|[\x00\x1c-\x1f]")
_BAND: Final = re.compile(r"[bB]([1-9][0-9]{0,4})")
_Names = Mapping[type[ast.AST], str]
_UNARY: Final[_Names] = {ast.USub: "neg", ast.Not: "not"}
_BINARY: Final[_Names] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.Pow: "**",
    ast.And: "and",
    ast.Or: "or",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
}


def parse(text: str) -> tuple[Node, ...]:
    """The expressions in ``text``, separated by commas or semicolons.

    Raises InputError in one line that says what stands where, and what is allowed.
    """
    text = text.strip()
    if len(text) > MAX_CHARS:
        raise InputError(f"--expression has {len(text)} characters, more than {MAX_CHARS}")
    if foreign := _FOREIGN.search(text):
        _refuse(foreign.start(), foreign.group(), "is not allowed")
    body = _body(_with_commas(re.sub(r"\s", " ", text)))
    parts = body.elts if isinstance(body, ast.Tuple) else [body]
    if not 1 <= len(parts) <= MAX_EXPRESSIONS:
        raise InputError(
            f"--expression holds {len(parts)} expressions: give 1 to {MAX_EXPRESSIONS}"
        )
    return tuple(_Reader(text).node(part, 0) for part in parts)


def _with_commas(text: str) -> str:
    """Semicolons between expressions as commas; others stay, and are refused."""
    depth, found = 0, []
    for character in text:
        depth += {"(": 1, ")": -1}.get(character, 0)
        found.append("," if character == ";" and depth == 0 else character)
    return "".join(found)


def _body(text: str) -> ast.expr:
    try:
        return ast.parse(text, mode="eval").body
    except SyntaxError as error:
        # The end of the text has no place of its own.
        place = min(error.offset - 1, len(text)) if error.offset else len(text)
        never = "never closed" in error.msg
        why = "is never closed" if never else "is not expected there"
        _refuse(place, text[place : place + 12].strip() or "the end", why)
    except (RecursionError, MemoryError, ValueError):
        raise InputError(
            f"--expression is nested too deeply (more than {MAX_DEPTH} levels) or holds a number "
            "that is too long: simplify it"
        ) from None


def _refuse(place: int, what: str, why: str) -> NoReturn:
    raise InputError(f"--expression, character {place + 1}: {what!r:.60} {why}; {ALLOWED}")


class _Reader:
    """Turns Python's syntax tree into ours, which holds nothing but what is allowed."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._kinds: dict[type, Callable[..., Node]] = {
            ast.Constant: self._constant,
            ast.Name: self._name,
            ast.UnaryOp: self._unary,
            ast.BinOp: self._binary,
            ast.BoolOp: self._logical,
            ast.Compare: self._compare,
            ast.Call: self._call,
        }

    def node(self, given: ast.expr, depth: int) -> Node:
        if depth > MAX_DEPTH:
            self._refuse(given, f"is nested more than {MAX_DEPTH} levels deep")
        reader = self._kinds.get(type(given))
        if reader is None:
            self._refuse(given, "is not allowed")
        return reader(given, depth + 1)

    def _constant(self, given: ast.Constant, _depth: int) -> Node:
        if type(given.value) not in (int, float):
            self._refuse(given, "is no number")
        try:
            value = float(given.value)  # type: ignore[arg-type]
        except OverflowError:
            value = math.inf
        if not math.isfinite(value):
            self._refuse(given, "is too large a number")
        return Number(value)

    def _name(self, given: ast.Name, _depth: int) -> Node:
        if given.id == "nan":
            return Number(math.nan)
        band = _BAND.fullmatch(given.id)
        if band is None:
            self._refuse(given, "is no band")
        return Band(int(band[1]))

    def _unary(self, given: ast.UnaryOp, depth: int) -> Node:
        operand = self.node(given.operand, depth)
        if isinstance(given.op, ast.UAdd):
            return operand
        return Call(self._operator(given, _UNARY, given.op), (operand,))

    def _binary(self, given: ast.BinOp, depth: int) -> Node:
        name = self._operator(given, _BINARY, given.op)
        left, right = self.node(given.left, depth), self.node(given.right, depth)
        if name == "**" and abs(_literal(right)) > MAX_EXPONENT:
            self._refuse(given.right, f"is an exponent beyond {MAX_EXPONENT}")
        return Call(name, (left, right))

    def _logical(self, given: ast.BoolOp, depth: int) -> Node:
        name = self._operator(given, _BINARY, given.op)
        if depth + len(given.values) > MAX_DEPTH:
            self._refuse(given, f"is nested more than {MAX_DEPTH} levels deep")
        return _joined(name, [self.node(value, depth) for value in given.values])

    def _compare(self, given: ast.Compare, depth: int) -> Node:
        if depth + len(given.ops) > MAX_DEPTH:
            self._refuse(given, f"is nested more than {MAX_DEPTH} levels deep")
        sides = [self.node(side, depth) for side in (given.left, *given.comparators)]
        names = [self._operator(given, _BINARY, op) for op in given.ops]
        pairs = zip(names, sides[:-1], sides[1:], strict=True)
        joined = _joined("and", [Call(name, (left, right)) for name, left, right in pairs])
        # What stands inside a chain is there twice: chains in chains would grow without end.
        if len(names) > 1 and len(spelled(joined)) > MAX_CHARS:
            self._refuse(given, "is too long once its chains are written out")
        return joined

    def _call(self, given: ast.Call, depth: int) -> Node:
        name = given.func.id if isinstance(given.func, ast.Name) else ""
        if name not in FUNCTIONS or given.keywords:
            self._refuse(given, "is no call of these functions")
        least, most = FUNCTIONS[name]
        if not least <= len(given.args) <= most:
            takes = str(least) if least == most else f"{least} to {most}"
            self._refuse(given, f"has {len(given.args)} arguments, and {name} takes {takes}")
        return Call(name, tuple(self.node(argument, depth) for argument in given.args))

    def _operator(self, given: ast.expr, names: _Names, operator: ast.AST) -> str:
        name = names.get(type(operator))
        if name is None:
            self._refuse(given, "has an operator that is not allowed")
        return name

    def _refuse(self, given: ast.expr, why: str) -> NoReturn:
        start, end = given.col_offset, given.end_col_offset
        _refuse(start, self._text[start:end], why)


def _joined(name: str, parts: Sequence[Node]) -> Node:
    joined = parts[0]
    for part in parts[1:]:
        joined = Call(name, (joined, part))
    return joined


def _literal(node: Node) -> float:
    """The number that a constant exponent is, 0 for others."""
    if isinstance(node, Call) and node.name == "neg":
        return _literal(node.arguments[0])
    return node.value if isinstance(node, Number) else 0.0

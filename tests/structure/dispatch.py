"""Requests that are sent by the operation's name: ``send("PutObject", ..., condition)``.

A sender is a function that makes a raw request of an ``operation``, one that fetches a
method by a name that is no constant, or one that hands its own parameter on to a
sender. Every call of one is judged by its operation.
"""

import ast
import functools
import re
from collections.abc import Iterator

from tests.structure.conditions import Function, Package, parameters

# The type whose every value is a condition; `Condition | None` is another.
CONDITION = "Condition"
CONDITION_CLASSES = ("IfAbsent", "IfMatch")


def is_dynamic(node: ast.AST) -> bool:
    """Whether a call fetches an attribute by a name that is no constant."""
    match node:
        case ast.Call(func=ast.Name(id="getattr"), args=[_, name, *_]):
            return not isinstance(name, ast.Constant)
    return False


@functools.cache
def senders(package: Package) -> frozenset[Function]:
    """All senders of a package."""
    found = frozenset[Function]()
    every = [one for functions in package.functions.values() for one in functions]
    while more := [one for one in every if one not in found and _sends(package, one, found)]:
        found |= frozenset(more)
    return found


def _sends(package: Package, function: Function, known: frozenset[Function]) -> bool:
    own = [name for name in parameters(function) if name != "self"]
    for node in ast.walk(function):
        if isinstance(node, ast.Attribute) and node.attr == "request" and "operation" in own:
            return True
        if is_dynamic(node) and isinstance(node, ast.Call):
            used = {part.id for part in ast.walk(node.args[1]) if isinstance(part, ast.Name)}
            if used & set(own):
                return True
        if isinstance(node, ast.Call) and _called(package, node, known):
            first = node.args[0]
            if isinstance(first, ast.Name) and first.id in own:
                return True
    return False


def _called(package: Package, node: ast.Call, known: frozenset[Function]) -> bool:
    match node:
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=[_, *_]):
            return any(one in known for one in package.resolve(name, node))
    return False


def operation(package: Package, node: ast.Call) -> str | None:
    """What a call of a sender asks for, as boto3 spells it; ``?`` where it cannot be read.

    None for a call of anything else.
    """
    if not _called(package, node, senders(package)):
        return None
    first = node.args[0]
    if isinstance(first, ast.Constant) and isinstance(first.value, str):
        return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", first.value).lower()
    return "?"


def forwards(package: Package, node: ast.Call) -> bool:
    """Whether a call's operation is the enclosing function's own parameter."""
    scope = package.enclosing(node)
    first = node.args[0]
    return (
        isinstance(first, ast.Name)
        and isinstance(scope, Function)
        and first.id in parameters(scope)
    )


def has_condition(package: Package, node: ast.Call) -> bool:
    """Whether an argument's type is ``Condition`` itself, which is never None."""
    arguments = [*node.args, *(keyword.value for keyword in node.keywords)]
    return any(_is_condition(package, argument) for argument in arguments)


def _is_condition(package: Package, value: ast.AST) -> bool:
    match value:
        case ast.Call(func=ast.Name(id=name)):
            return name in CONDITION_CLASSES
        case ast.Name(id=name):
            scope = package.enclosing(value)
            return isinstance(scope, Function) and CONDITION in _annotations(scope, name)
        case ast.Attribute(value=ast.Name(id="self"), attr=name):
            return CONDITION in _field_annotations(package, value, name)
    return False


def _annotations(function: Function, name: str) -> Iterator[str]:
    arguments = function.args
    for one in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
        if one.arg == name and one.annotation is not None:
            yield ast.unparse(one.annotation)


def _field_annotations(package: Package, node: ast.AST, name: str) -> Iterator[str]:
    while node in package.parents and not isinstance(node, ast.ClassDef):
        node = package.parents[node]
    for statement in getattr(node, "body", []):
        match statement:
            case ast.AnnAssign(target=ast.Name(id=found), annotation=annotation) if found == name:
                yield ast.unparse(annotation)

"""Whether a call always carries its condition, through dicts, names, helpers, parameters."""

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

Names = frozenset[str]
Function = ast.FunctionDef | ast.AsyncFunctionDef
_DEPTH = 8


class Package:
    """The trees of one package's modules: helpers and callers are looked up by their name.

    Where a name means several functions, every one of them has to hold.
    """

    def __init__(self, trees: Iterable[ast.Module]) -> None:
        self.parents: dict[ast.AST, ast.AST] = {}
        self.functions: dict[str, list[Function]] = defaultdict(list)
        self.calls: dict[str, list[ast.Call]] = defaultdict(list)
        for node in (node for tree in trees for node in ast.walk(tree)):
            self.parents.update(dict.fromkeys(ast.iter_child_nodes(node), node))
            match node:
                case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                    self.functions[name].append(node)
                case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
                    self.calls[name].append(node)

    def is_conditional(self, call: ast.Call, names: Names) -> bool:
        """Whether one of the keyword arguments ``names`` is always passed."""
        return any(
            keyword.arg in names
            or (keyword.arg in (None, "params") and self._holds(keyword.value, names))
            for keyword in call.keywords
        )

    def resolve(self, name: str, node: ast.AST) -> list[Function]:
        """The functions that ``name`` can mean at a node: its own module's, else all."""
        every = self.functions.get(name, [])
        return [one for one in every if self._module(one) is self._module(node)] or every

    def _module(self, node: ast.AST) -> ast.AST:
        while node in self.parents:
            node = self.parents[node]
        return node

    def _holds(self, value: ast.AST | None, names: Names, depth: int = _DEPTH) -> bool:
        """Whether an expression is always a mapping with one of ``names`` among its keys."""
        if depth == 0:
            return False
        match value:
            case ast.Dict(keys=keys, values=values):
                return any(
                    isinstance(key, ast.Constant) and key.value in names
                    if key is not None
                    else self._holds(inner, names, depth - 1)
                    for key, inner in zip(keys, values, strict=True)
                )
            case ast.IfExp(body=body, orelse=orelse):
                return self._all_hold([body, orelse], names, depth)
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
                returned = [list(_returned(one)) for one in self.resolve(name, value)]
                return bool(returned) and all(
                    self._all_hold(values, names, depth) for values in returned
                )
            case ast.Name(id=name):
                return self._all_hold(self._meanings(name, value), names, depth)
        return False

    def _all_hold(self, values: Sequence[ast.AST | None], names: Names, depth: int) -> bool:
        return bool(values) and all(self._holds(value, names, depth - 1) for value in values)

    def _meanings(self, name: str, node: ast.AST) -> Sequence[ast.AST | None]:
        """Every expression that a name can stand for, looked up outwards as Python does."""
        scope: ast.AST | None = node
        while (scope := self.enclosing(scope)) is not None:
            if given := list(_assigned(name, scope)):
                return given
            if isinstance(scope, Function) and name in parameters(scope):
                return [self._argument(call, scope, name) for call in self.calls[scope.name]]
        return []

    def enclosing(self, node: ast.AST) -> ast.AST | None:
        """The function around a node, or the module; None around a module."""
        scope = self.parents.get(node)
        while scope is not None and not isinstance(scope, Function | ast.Module):
            scope = self.parents.get(scope)
        return scope

    def _argument(self, call: ast.Call, function: Function, name: str) -> ast.AST | None:
        for keyword in call.keywords:
            if keyword.arg == name:
                return keyword.value
        own = parameters(function)
        is_method = isinstance(self.parents.get(function), ast.ClassDef)
        place = own.index(name) - (1 if is_method and own[0] == "self" else 0)
        return call.args[place] if place < len(call.args) else None


def parameters(function: Function) -> list[str]:
    """The names of a function's parameters, in order."""
    arguments = function.args
    return [one.arg for one in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]


def _returned(function: Function) -> Iterator[ast.AST | None]:
    return (node.value for node in _own(function) if isinstance(node, ast.Return))


def _assigned(name: str, scope: ast.AST) -> Iterator[ast.AST | None]:
    for node in _own(scope):
        match node:
            case ast.Assign(targets=targets, value=value):
                if any(isinstance(one, ast.Name) and one.id == name for one in targets):
                    yield value
            case ast.AnnAssign(target=ast.Name(id=found), value=value) if found == name:
                yield value


def _own(scope: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a scope without those of the functions inside it."""
    for child in ast.iter_child_nodes(scope):
        yield child
        if not isinstance(child, Function):
            yield from _own(child)

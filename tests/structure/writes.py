"""Finds in a module's syntax tree whatever writes, replaces or deletes, and judges it.

Outside the adapters every such place is a finding. Inside them one is a finding
unless the request itself carries its condition. A method that is handed on
(``retry(client.put_object, ...)``) counts like one that is called.
"""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tests.structure import dispatch
from tests.structure.conditions import Package
from tests.structure.rules import (
    ADAPTERS,
    CONDITIONAL,
    EXCLUSIVE,
    NEVER,
    OPEN_FLAGS,
    OPENERS,
    OS_CALLS,
    PATH_CALLS,
    PREPARING,
    S3_CONDITIONS,
    SHUTIL_CALLS,
    SQL_RUNNERS,
    SQL_WRITES,
)
from tests.structure.source import Source


@dataclass(frozen=True)
class Finding:
    """One place: where, in which function, what."""

    module: str
    function: str
    line: int
    what: str

    def __str__(self) -> str:
        return f"{self.module}:{self.line} in {self.function or 'the module'}: {self.what}"


@dataclass
class Walk:
    """One module's walk, and the package that it belongs to."""

    source: Source
    package: Package

    @property
    def parents(self) -> Mapping[ast.AST, ast.AST]:
        return self.package.parents

    @property
    def adapter(self) -> bool:
        return f"{self.source.name}.".startswith(ADAPTERS)

    def findings(self) -> Iterator[Finding]:
        """Every finding of the module, in the order of the tree."""
        imports = _imports(self.source.tree)
        for node in ast.walk(self.source.tree):
            for what in (*self._verb(node), *self._file(node, imports), *self._sql(node, imports)):
                yield Finding(self.source.name, self._function(node), node.lineno, what)

    def _function(self, node: ast.AST) -> str:
        names = []
        while node in self.parents:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                names.append(node.name)
            node = self.parents[node]
        return ".".join(reversed(names))

    # -- verbs of the clouds' libraries

    def _verb(self, node: ast.AST) -> Iterator[str]:
        yield from self._judge(_verb_name(node), node)
        if not isinstance(node, ast.Call):
            return
        if dispatch.is_dynamic(node) and self._is_client(node):
            yield "a client's method by a name that is no constant"
        if self.adapter and isinstance(node.func, ast.Attribute) and node.func.attr == "request":
            yield "a raw HTTP request"
        asked = dispatch.operation(self.package, node) if self.adapter else None
        if asked == "?" and not dispatch.forwards(self.package, node):
            yield "an operation that cannot be read here"
        elif asked:
            yield from self._judge(asked, node)

    def _is_client(self, node: ast.Call) -> bool:
        return self.adapter or "client" in ast.unparse(node.args[0]).lower()

    def _judge(self, verb: str, node: ast.AST) -> Iterator[str]:
        if verb in NEVER:
            yield f"{verb} takes no condition"
        elif verb in PREPARING and not self.adapter:
            yield f"{verb} outside the adapters"
        elif verb in CONDITIONAL:
            if not self.adapter:
                yield f"{verb} outside the adapters"
            elif not self._is_conditional(node, CONDITIONAL[verb]):
                yield f"{verb} without {' or '.join(sorted(CONDITIONAL[verb]))}"

    def _is_conditional(self, node: ast.AST, names: frozenset[str]) -> bool:
        call = self.parents.get(node) if isinstance(node, ast.Attribute) else node
        if not isinstance(call, ast.Call):
            return False
        if node is not call.func and node not in call.args and node is not call:
            return False
        if self.package.is_conditional(call, names):
            return True
        # S3's dispatcher turns a Condition into parameters; the others take them as they are.
        asked = names is S3_CONDITIONS and dispatch.operation(self.package, call)
        return bool(asked) and dispatch.has_condition(self.package, call)

    # -- files

    def _file(self, node: ast.AST, imports: Mapping[str, str]) -> Iterator[str]:
        if not isinstance(node, ast.Call):
            return
        owner, name = _called(node, imports)
        if name == "open" and owner == "os":
            flags = {inner.attr for inner in ast.walk(node) if isinstance(inner, ast.Attribute)}
            exclusive = self.adapter and "O_EXCL" in flags
            if flags & OPEN_FLAGS and not exclusive:
                yield "os.open for writing"
        elif name == "open":
            yield from self._open(node, owner)
        elif self.adapter and name in EXCLUSIVE:
            return
        elif (owner == "os" and name in OS_CALLS) or (
            owner in ("shutil", "rasterio.shutil") and name in SHUTIL_CALLS
        ):
            yield f"{owner}.{name}"
        elif owner in ("numpy", "np") and name in {"save", "savez", "savez_compressed", "savetxt"}:
            yield f"numpy.{name}"
        elif isinstance(node.func, ast.Attribute) and (
            name in PATH_CALLS or (name == "replace" and _one_plain_argument(node))
        ):
            yield f".{name}()"

    def _open(self, node: ast.Call, owner: str) -> Iterator[str]:
        plain = owner in ("", "builtins", *OPENERS)
        given = [keyword.value for keyword in node.keywords if keyword.arg == "mode"]
        if not given:
            given = node.args[1:2] if plain else node.args[:1]
        if not given:
            return
        mode = given[0]
        if not isinstance(mode, ast.Constant):
            if plain:
                yield "open with a mode that cannot be read here"
        elif isinstance(mode.value, str) and set(mode.value) & set("wax+") and len(mode.value) < 4:
            if self.adapter and "x" in mode.value:
                return
            if not _is_in_memory(node):
                yield f"open with mode {mode.value!r}"

    # -- SQL

    def _sql(self, node: ast.AST, imports: Mapping[str, str]) -> Iterator[str]:
        if not isinstance(node, ast.Call):
            return
        owner, name = _called(node, imports)
        of_sqlalchemy = owner.split(".")[0] == "sqlalchemy"
        table_method = isinstance(node.func, ast.Attribute) and not node.args and not node.keywords
        if name == "delete" and (of_sqlalchemy or table_method):
            yield "SQL DELETE"
        elif name == "update" and (of_sqlalchemy or table_method):
            if not self.adapter or not self._on_revision(node):
                yield "SQL UPDATE without a condition on the revision"
        elif name in SQL_RUNNERS and node.args:
            yield from self._sql_text(node.args[0])

    def _on_revision(self, node: ast.AST) -> bool:
        """Whether the chain of calls behind ``update(...)`` has a where on ``revision``."""
        while isinstance(self.parents.get(node), ast.Attribute | ast.Call):
            node = self.parents[node]
            if _called_name(node) == "where" and isinstance(node, ast.Call):
                inner = [part for argument in node.args for part in ast.walk(argument)]
                if any(isinstance(part, ast.Attribute) and part.attr == "revision"
                       for part in inner):  # fmt: skip
                    return True
        return False

    def _sql_text(self, argument: ast.AST) -> Iterator[str]:
        text = " ".join(
            part.value
            for part in ast.walk(argument)
            if isinstance(part, ast.Constant) and isinstance(part.value, str)
        ).upper()
        if text.lstrip().startswith(SQL_WRITES):
            yield f"SQL as text: {text.split()[0]}"


def _verb_name(node: ast.AST) -> str:
    """A cloud library's verb that is called, handed on, or fetched by its name."""
    match node:
        case ast.Attribute(attr=name):
            return name
        case ast.Call(func=ast.Name(id="getattr"), args=[_, ast.Constant(value=str(name)), *_]):
            return name
    return ""


def _imports(tree: ast.AST) -> dict[str, str]:
    """What each imported name stands for: ``sa`` -> ``sqlalchemy``, ``copy`` -> ``shutil.copy``."""
    known = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            known.update({alias.asname: alias.name for alias in node.names if alias.asname})
        elif isinstance(node, ast.ImportFrom):
            known.update(
                {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
            )
    return known


def _called(node: ast.Call, imports: Mapping[str, str]) -> tuple[str, str]:
    """(owner, name) of a call: ``os.open`` -> (os, open), ``x.open`` -> (x, open)."""
    match node.func:
        case ast.Name(id=name):
            owner, _, name = imports.get(name, name).rpartition(".")
            return owner, name
        case ast.Attribute(value=value, attr=name):
            dotted = ast.unparse(value)
            return imports.get(dotted, dotted), name
    return "", ""


def _called_name(node: ast.AST) -> str:
    match node:
        case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)):
            return name
    return ""


def _one_plain_argument(node: ast.Call) -> bool:
    # str.replace takes two, dataclasses.replace and datetime.replace take keywords.
    return len(node.args) == 1 and not node.keywords


def _is_in_memory(node: ast.Call) -> bool:
    """A raster of GDAL's MEM driver, or one whose path begins with /vsimem/."""
    drivers = [keyword.value for keyword in node.keywords if keyword.arg == "driver"]
    texts = [part for argument in node.args[:1] for part in ast.walk(argument)]
    first = next((part for part in texts if isinstance(part, ast.Constant)), None)
    return any(isinstance(one, ast.Constant) and one.value == "MEM" for one in drivers) or (
        first is not None and str(first.value).startswith("/vsimem/")
    )

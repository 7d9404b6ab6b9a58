"""The product's modules, parsed."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Source:
    """One module: its dotted name (a package's own for ``__init__``), path and tree."""

    name: str
    path: Path
    tree: ast.Module

    @property
    def parent(self) -> str:
        """The package that holds the module; a package's own for ``__init__``."""
        return self.name if self.path.name == "__init__.py" else self.name.rpartition(".")[0]

    @property
    def package_name(self) -> str:
        """A dotted name whose parent is what a relative import starts from."""
        return f"{self.name}.__init__" if self.path.name == "__init__.py" else self.name


def modules(*packages: str) -> Iterator[Source]:
    """Every module of the packages that exist, in order."""
    for package in packages:
        for path in sorted((REPOSITORY / package).rglob("*.py")):
            parts = path.relative_to(REPOSITORY).with_suffix("").parts
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            yield Source(name, path, ast.parse(path.read_text("utf-8"), str(path)))

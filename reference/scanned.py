"""Names that the product's code spells out, and what is said of each here."""

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
PRODUCT: Final = ("scenemosaic", "tasks", "flows", "blocks", "deployments")


class Undescribed(RuntimeError):
    """The code has a name that the reference does not describe, or the other way round."""


def spelled(pattern: str) -> set[str]:
    """Every string constant of the product that the pattern matches whole."""
    return {text for text in _texts() if re.fullmatch(pattern, text)}


def _texts() -> Iterator[str]:
    for package in PRODUCT:
        for path in sorted((ROOT / package).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    yield node.value


def described(found: set[str], said: Mapping[str, str], where: str) -> Mapping[str, str]:
    """``said``, in which all of ``found`` stands and nothing else. Raises Undescribed."""
    if found != set(said):
        missing, stale = sorted(found - set(said)), sorted(set(said) - found)
        raise Undescribed(f"{where}: describe {missing}, take out {stale}")
    return said

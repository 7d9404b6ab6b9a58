"""Canonical JSON: one spelling for one value, so that its SHA-256 names it.

Keys sorted, UTF-8, no white space, floats by ``repr`` (they come back bit for
bit), integers exact, and "nan", "inf", "-inf" as strings, since JSON has no
spelling for them.
"""

import json
import math
from collections.abc import Sequence
from typing import Any, Final

from scenemosaic.errors import InputError

Number = int | float
_NOT_FINITE: Final = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
_REQUIRED: Final = object()


def encode(value: object) -> bytes:
    """The canonical bytes of a JSON value (dicts, lists, str, int, finite float, bool, None)."""
    try:
        text = json.dumps(
            value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
        )
        return text.encode("utf-8")
    except ValueError as error:
        raise InputError(f"not expressible as canonical JSON: {error}") from error


def decode(data: bytes, what: str) -> object:
    """The JSON value in ``data``; InputError naming ``what`` where it is none."""
    try:
        return json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{what} is not JSON: {error}") from error


def spell_number(value: Number) -> Number | str:
    """A number as JSON holds it: NaN and infinities become strings."""
    if isinstance(value, int) or math.isfinite(value):
        return value
    return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"


def read_number(value: object, where: str) -> Number:
    """The inverse of :func:`spell_number`."""
    if isinstance(value, str) and value in _NOT_FINITE:
        return _NOT_FINITE[value]
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    raise InputError(f'{where} must be a number, "nan", "inf" or "-inf", not {value!r:.80}')


class Fields:
    """Reads a JSON object field by field; refuses what is unknown, missing or of another type."""

    def __init__(self, value: object, where: str) -> None:
        if not isinstance(value, dict):
            raise InputError(f"{where} must be a JSON object, not {value!r:.80}")
        self._left: dict[str, object] = dict(value)
        self._where = where

    def _name(self, field: str) -> str:
        return f"{self._where}.{field}"

    def take(self, field: str, default: object = _REQUIRED) -> object:
        """The field's value as it stands, or ``default``."""
        if field in self._left:
            return self._left.pop(field)
        if default is _REQUIRED:
            raise InputError(f"{self._name(field)} is missing")
        return default

    def typed(self, field: str, kind: type, default: object = _REQUIRED) -> Any:
        """The field's value, of exactly ``kind`` (a bool is no int), or ``default``."""
        value = self.take(field, default)
        if value is not default and type(value) is not kind:
            raise InputError(f"{self._name(field)} must be {kind.__name__}, not {value!r:.80}")
        return value

    def number(self, field: str, default: object = _REQUIRED) -> Any:
        """A number, or ``default``."""
        value = self.take(field, default)
        return value if value is default else read_number(value, self._name(field))

    def floats(self, field: str, count: int) -> tuple[float, ...]:
        """Exactly ``count`` finite floats."""
        values = self.items(field)
        if len(values) != count or not all(type(v) is float and math.isfinite(v) for v in values):
            raise InputError(
                f"{self._name(field)} must be {count} finite floats, not {values!r:.80}"
            )
        return tuple(v for v in values if isinstance(v, float))

    def items(self, field: str) -> Sequence[object]:
        """A list."""
        values: Sequence[object] = self.typed(field, list)
        return values

    def done(self) -> None:
        """Refuse fields that nobody took."""
        if self._left:
            raise InputError(f"{self._where} has unknown fields: {', '.join(sorted(self._left))}")


def without(values: dict[str, object], defaults: dict[str, object]) -> dict[str, object]:
    """``values`` less those that equal their default."""
    return {k: v for k, v in values.items() if k not in defaults or v != defaults[k]}

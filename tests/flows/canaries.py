"""Secrets that a search can tell from anything else, in every form that they may be kept in."""

import base64
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import quote, quote_plus

# With signs that a URL escapes, and that base64 spreads over its groups.
NAMES = ("signature", "manifest", "endpoint", "key", "token", "user", "password")
SECRETS = {name: f"cAnAry-{name}+/7=Zq~9" for name in NAMES}


def forms(secret: str) -> set[bytes]:
    """The secret itself, as URLs write it, and as base64 does wherever it begins."""
    found = {secret, quote(secret), quote(secret, safe=""), quote_plus(secret)}
    found |= {quote(one, safe="") for one in found}
    # A prefix is enough of a leak, and what escapes leave alone is the same in all.
    found.add(secret.partition("+")[0])
    encoded = {one.encode() for one in found}
    return encoded | {part for one in encoded for part in _in_base64(one)}


def _in_base64(secret: bytes) -> Iterator[bytes]:
    """The characters that depend on the secret alone, for each of three places of its start."""
    for before in range(3):
        whole = base64.b64encode(b"\0" * before + secret)
        yield whole[-(-8 * before // 6) : (8 * (before + len(secret))) // 6]


def leaks(places: Iterable[tuple[str, bytes]]) -> list[str]:
    """Where a secret stands, and which."""
    wanted = {name: forms(secret) for name, secret in SECRETS.items()}
    return [
        f"{name} in {place}: …{data[max(0, at - 60) : at + 20]!r}…"
        for place, data in places
        for name, written in wanted.items()
        for at in [min((data.find(one) for one in written if one in data), default=-1)]
        if at >= 0
    ]


def rows(database: Path) -> Iterator[tuple[str, bytes]]:
    """Every row of every table. Saved blocks are encrypted there, or would be found."""
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=60)) as opened:
        opened.text_factory = bytes
        tables = opened.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        for (table,) in tables:
            name = table.decode()
            for row in opened.execute(f'SELECT * FROM "{name}"'):
                yield name, b"\0".join(_bytes(value) for value in row)


def _bytes(value: object) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode()


def files(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Every file of a root."""
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            yield str(path), path.read_bytes()

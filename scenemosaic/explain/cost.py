"""What requests and bytes cost, by prices that anybody may replace. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Final

from scenemosaic.errors import InputError
from scenemosaic.explain.work import Requests

AS_OF: Final = "an assumption of 2025, US dollars, us-east-1, S3 Standard and DynamoDB on demand"


@dataclass(frozen=True, slots=True)
class Prices:
    """US dollars: for 1000 requests, a million units, a gigabyte and month."""

    put_1000: float = 0.005
    get_1000: float = 0.0004
    write_units_million: float = 0.625
    read_units_million: float = 0.125
    gb_month: float = 0.023


@dataclass(frozen=True, slots=True)
class Cost:
    """US dollars: requests once, and what stands for each month (tiles and mosaic)."""

    puts: float
    gets: float
    rows: float
    month: float

    @property
    def once(self) -> float:
        return self.puts + self.gets + self.rows


def cost(asked: Requests, stored_bytes: float, prices: Prices) -> Cost:
    """The cost of one run, and of a month of what it stores."""
    rows = asked.write_units * prices.write_units_million
    rows += asked.read_units * prices.read_units_million
    return Cost(
        puts=asked.puts * prices.put_1000 / 1000,
        gets=asked.gets * prices.get_1000 / 1000,
        rows=rows / 1e6,
        month=stored_bytes / 1e9 * prices.gb_month,
    )


def prices_of(said: Sequence[str]) -> Prices:
    """The assumed prices with those of ``NAME=DOLLARS`` instead. Raises InputError."""
    known = [field.name for field in fields(Prices)]
    given: dict[str, float] = {}
    for one in said:
        name, _, text = one.partition("=")
        try:
            given[name] = float(text)
        except ValueError:
            raise InputError(f"a price is NAME=DOLLARS, not {one!r}") from None
        if name not in known or not 0 <= given[name] < 1e6:
            raise InputError(f"a price is one of {', '.join(known)}, not {one!r}")
    return replace(Prices(), **given)


def as_json(prices: Prices) -> Mapping[str, object]:
    """The prices by name, and what they are."""
    return {**asdict(prices), "source": AS_OF}

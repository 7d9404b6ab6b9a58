"""What a cost is to a size: the exponent of a power law, fitted. Pure."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

LINEAR = 1.05
# Less than this cannot be told from nothing: a millisecond.
LEAST = 1e-3


@dataclass(frozen=True)
class Curve:
    """The costs of one stage, smallest size first."""

    name: str
    sizes: Sequence[int]
    costs: Sequence[float]

    @property
    def exponent(self) -> float:
        """The slope of log cost over log size, by least squares."""
        return slope(self.sizes, self.costs)

    @property
    def last(self) -> float:
        """The slope between the two largest sizes, where fixed costs hide least."""
        return slope(self.sizes[-2:], self.costs[-2:])

    @property
    def is_linear(self) -> bool:
        """Whether neither of them is more than ``LINEAR``."""
        return max(self.exponent, self.last) <= LINEAR


def slope(sizes: Sequence[int], costs: Sequence[float]) -> float:
    """The exponent of ``costs`` over ``sizes``, least squares in logarithms; two sizes at least."""
    x = [math.log(size) for size in sizes]
    y = [math.log(max(cost, LEAST)) for cost in costs]
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    spread = sum((one - mean_x) ** 2 for one in x)
    return sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True)) / spread


def edge_of(windows: int) -> int:
    """The side of the square of windows that has about so many, such as 316 for 100,000."""
    return max(math.isqrt(windows), 1)

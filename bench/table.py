"""Costs as Markdown tables."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import median

from bench.measure import Cost

Costs = Mapping[str, Sequence[Cost]]
MB = 1_000_000


def costs(measured: Costs, baseline: str) -> Iterator[str]:
    """One line a case: CPU and wall (median, least), peak memory, bytes, ratios to the baseline."""
    yield f"| case | CPU s | wall s | peak MB | file MB | CPU to {baseline} | wall to {baseline} |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"
    for name, runs in measured.items():
        cpu = ratio(runs, measured[baseline], lambda cost: cost.cpu_s)
        wall = ratio(runs, measured[baseline], lambda cost: cost.wall_s)
        peak = max(cost.peak_bytes for cost in runs) / MB
        yield (
            f"| {name} | {spread([cost.cpu_s for cost in runs])} "
            f"| {spread([cost.wall_s for cost in runs])} | {peak:.0f} "
            f"| {runs[-1].out_bytes / MB:.1f} | {cpu:.3f} | {wall:.3f} |"
        )


def spread(values: Sequence[float]) -> str:
    """``median (least)``."""
    return f"{median(values):.2f} ({min(values):.2f})"


def ratio(runs: Sequence[Cost], others: Sequence[Cost], of: Callable[[Cost], float]) -> float:
    """The median over rounds of the ratio within a round: both ran in the same minute."""
    return median(of(run) / of(other) for run, other in zip(runs, others, strict=True))


def claim(text: str, value: float, limit: float) -> str:
    """One line that says whether a promise is kept."""
    return f"| {text} | {value:.3f} | {limit:.3f} | {'yes' if value <= limit else '**no**'} |"

"""The comparison as Markdown: the table, and what assembly promises."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import median

from bench import table
from bench.compare_cells import ASSEMBLY, FROM_TILES, GDAL, ODC, Row
from bench.measure import Cost

GDAL_SHARE, ODC_SHARE = 0.1, 0.2
Cells = Mapping[tuple[str, str, str, str], Sequence[Row]]


def lines(rows: Sequence[Row]) -> Iterator[str]:
    """Everything, of all rounds."""
    cells: dict[tuple[str, str, str, str], list[Row]] = {}
    for row in rows:
        cells.setdefault((row.scene, row.where, row.source, row.name), []).append(row)
    yield "| scene | where | from | by | CPU s | wall s | peak MB | servers' CPU s | MB | to GDAL |"
    yield "| --- | --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |"
    yield from (_line(key, cells) for key in cells)
    yield ""
    yield "| assembly's CPU, its process whole | ratio | limit | kept |"
    yield "| --- | ---: | ---: | --- |"
    for scene, where, source, name in cells:
        if (source, name) == (FROM_TILES, ASSEMBLY):
            yield from _promises(scene, where, cells)


def _line(key: tuple[str, str, str, str], cells: Cells) -> str:
    rows = cells[key]
    failed = [row for row in rows if row.cost is None]
    begun = " | ".join(key)
    if failed:
        return f"| {begun} | failed: {failed[0].reason.replace('|', '/')} | | | | | |"
    costs = [row.cost for row in rows if row.cost is not None]
    ratio = _ratio(cells, key, (*key[:3], GDAL), _cpu)
    return (
        f"| {begun} | {median(map(_cpu, costs)):.2f} "
        f"| {median(cost.wall_s for cost in costs):.2f} "
        f"| {max(cost.peak_bytes for cost in costs) / table.MB:.0f} "
        f"| {median(row.servers_s for row in rows):.2f} "
        f"| {costs[-1].out_bytes / table.MB:.1f} "
        f"| {'' if ratio is None else f'{ratio:.3f}'} |"
    )


def _promises(scene: str, where: str, cells: Cells) -> Iterator[str]:
    key = scene, where, FROM_TILES
    for name, limit in ((GDAL, GDAL_SHARE), (ODC, ODC_SHARE)):
        for text, of in (("", _cpu), (", imports of both left out", _cpu_beyond_imports)):
            ratio = _ratio(cells, (*key, ASSEMBLY), (*key, name), of)
            if ratio is not None:
                yield table.claim(f"{scene}, {where}: to {name}{text}", ratio, limit)


def _ratio(
    cells: Cells,
    one: tuple[str, str, str, str],
    other: tuple[str, str, str, str],
    of: Callable[[Cost], float],
) -> float | None:
    """The median over rounds of the ratio within a round; None where one of them failed."""
    pairs = [(a.cost, b.cost) for a, b in zip(cells[one], cells.get(other, ()), strict=False)]
    ratios = [of(a) / of(b) for a, b in pairs if a is not None and b is not None]
    return median(ratios) if ratios and len(ratios) == len(cells[one]) else None


def _cpu(cost: Cost) -> float:
    return cost.cpu_s


def _cpu_beyond_imports(cost: Cost) -> float:
    told = cost.told
    stages = told.get("stages", {})
    imports_s = stages["import"]["cpu_s"] if "import" in stages else told.get("imports_s", 0.0)
    return cost.cpu_s - float(imports_s)

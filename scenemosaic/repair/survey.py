"""What there is to repair: windows that are named, or all that verification finds wrong."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from scenemosaic.errors import InputError, SourceChanged
from scenemosaic.grids.grid import Tiling
from scenemosaic.job_rows import window_number
from scenemosaic.repair.sources import check_given, located
from scenemosaic.session import JobSpec, open_session
from scenemosaic.verification.findings import DAMAGED, Finding, Kind
from scenemosaic.verification.inspection import inspect_as_it_stands
from scenemosaic.verification.verify import Progress, silent, verify
from scenemosaic.words import counted, some

_PUBLISHED: Final = ("mosaic", "item", "preview")


@dataclass(frozen=True, slots=True)
class Survey:
    """The windows to look at, by number; ``named`` ones are compared with their source.

    ``publish``: mosaic, item or preview need something, too. ``renew``: what is published
    is damaged; ``doubtful``: so it seems beside rows that are wrong, and once these are mended
    :func:`is_damaged` knows. ``wrong`` is what was found of these three, ``left`` what no
    repair mends, such as stray objects.
    """

    spec: JobSpec
    numbers: tuple[int, ...]
    named: bool
    publish: bool
    renew: bool = False
    doubtful: bool = False
    wrong: tuple[Finding, ...] = ()
    left: tuple[Finding, ...] = ()


def survey(
    spec: JobSpec,
    names: Sequence[str] = (),
    sources: Sequence[str] = (),
    progress: Progress = silent,
) -> Survey:
    """What to repair, with the sources' locations in its ``spec``. Changes nothing.

    Raises InputError for windows that the plan does not have, where a source is needed that
    is not known, and at once where one that is given is not there; SourceChanged where it is
    not the pinned one.
    """
    check_given(spec, sources)
    if names:
        numbers = numbers_of(spec.plan.recipe.tiling(), names)
        return Survey(located(spec, sources), numbers, named=True, publish=False)
    report = verify(spec, progress=progress)
    found = _sorted_out(spec, report.findings)
    return replace(found, spec=_located_where_needed(spec, found.numbers, sources))


def is_damaged(spec: JobSpec) -> bool:
    """Whether what is published is damaged, by another verification."""
    return _sorted_out(spec, verify(spec).findings).renew


def numbers_of(tiling: Tiling, names: Sequence[str]) -> tuple[int, ...]:
    """The numbers of the windows of these names, spelled out or short (0_0), each once."""
    return tuple(dict.fromkeys(tiling.number(name) for name in names))


def _sorted_out(spec: JobSpec, findings: Sequence[Finding]) -> Survey:
    tiling = spec.plan.recipe.tiling()
    numbers: dict[int, None] = {}
    published, left = [], []
    # The mosaic's bytes were compared with what these rows say.
    doubtful = any(finding.of_row for finding in findings)
    for finding in findings:
        number = window_number(tiling, finding.subject)
        if number is not None and finding.kind is not Kind.STRAY:
            numbers[number] = None
        elif finding.subject in _PUBLISHED:
            published.append(finding)
        else:
            left.append(finding)
    renew = any(one.kind in DAMAGED and one.subject != "item" for one in published)
    return Survey(
        spec,
        tuple(numbers),
        named=False,
        publish=bool(published),
        renew=renew,
        doubtful=doubtful,
        wrong=tuple(published),
        left=tuple(left),
    )


def _located_where_needed(spec: JobSpec, numbers: Sequence[int], sources: Sequence[str]) -> JobSpec:
    """Where only rows are wrong, nobody has to have the source."""
    if not numbers:
        return spec
    try:
        return located(spec, sources)
    except InputError as error:
        if sources or isinstance(error, SourceChanged):
            raise
        if _needs_source(spec, numbers):
            raise InputError(f"damaged: {_named(spec, numbers)}; {error}") from error
    return spec


def _named(spec: JobSpec, numbers: Sequence[int]) -> str:
    """How many windows, and the first names."""
    tiling = spec.plan.recipe.tiling()
    return f"{counted(len(numbers), 'window')} ({some([tiling.window(n).name for n in numbers])})"


def _needs_source(spec: JobSpec, numbers: Sequence[int]) -> bool:
    session = open_session(spec)
    for number in numbers:
        state = inspect_as_it_stands(session, spec, number)
        if state.findings and not state.is_blocked and not state.object_is_right:
            return True
    return False

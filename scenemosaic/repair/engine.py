"""The operations of a repair, for tasks, flows and the command line to compose."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from scenemosaic import keys
from scenemosaic.auditing.audit import Record
from scenemosaic.auditing.trail import trail
from scenemosaic.errors import SceneMosaicError
from scenemosaic.machine import in_hand
from scenemosaic.machine.memory import reuse_large_buffers
from scenemosaic.publishing.published import MosaicResult
from scenemosaic.repair.outcome import WindowRepair
from scenemosaic.repair.report import RepairReport, verdict
from scenemosaic.repair.survey import Survey, is_damaged, survey
from scenemosaic.repair.window import repair_window
from scenemosaic.session import JobSpec, Run, open_session
from scenemosaic.verification.findings import Finding
from scenemosaic.verification.strays import stray_files

__all__ = ["RepairBatch", "RepairReport", "Survey", "WindowRepair", "repair_windows", "survey"]

# Repairs all windows of a survey; publishes, with `renew` where the published is damaged.
RepairAll = Callable[[Survey], Sequence[WindowRepair]]
Publish = Callable[[bool], MosaicResult]


@dataclass(frozen=True, slots=True)
class RepairBatch:
    """The outcomes of a batch; ``unrecorded`` is what a fault kept out of the audit log."""

    outcomes: tuple[WindowRepair, ...]
    unrecorded: tuple[Record, ...] = ()


def repair_windows(
    spec: JobSpec,
    numbers: Iterable[int],
    run: Run,
    *,
    named: bool,
    report: Callable[[WindowRepair], None] | None = None,
) -> RepairBatch:
    """Repair the windows with these numbers, one after the other.

    A window whose source does not decode ("failed"), or at which somebody else was first
    ("superseded", "target-gone"), is an outcome; the others are still repaired. Store faults
    that outlast their retries are raised.
    """
    reuse_large_buffers()
    outcomes = []
    with trail(open_session(spec), spec.plan.job_id, run, "window") as found:
        for number in in_hand.windows(numbers):
            outcome = repair_window(found, spec, number, run, named=named)
            outcomes.append(outcome)
            if report is not None:
                report(outcome)
    return RepairBatch(tuple(outcomes), found.trace.unrecorded)


def carry_out(found: Survey, repair_all: RepairAll, publish: Publish) -> RepairReport:
    """Repair what was found, then publish what came of it; the project's errors are inside.

    Where a window is superseded, gone or failed, nothing is published: whoever was first
    does that, or the next repair. ``seconds`` are the caller's to fill in.
    """
    outcomes: Sequence[WindowRepair] = ()
    mosaic: MosaicResult | None = None
    left = found.left
    error: SceneMosaicError | None
    try:
        outcomes = repair_all(found) if found.numbers else ()
        error = verdict(outcomes)
        if error is None and (found.numbers or found.publish):
            mosaic = publish(found.renew and (not found.doubtful or is_damaged(found.spec)))
            left = _left(found, mosaic.revision)
    except SceneMosaicError as raised:
        error = raised
    return RepairReport(
        job_id=found.spec.plan.job_id,
        windows=tuple(outcomes),
        mosaic=mosaic,
        error=error,
        seconds=0.0,
        published=found.publish and mosaic is not None,
        wrong=found.wrong,
        left=left,
    )


def _left(found: Survey, revision: int) -> tuple[Finding, ...]:
    """What is stray by the item as it is now: it may lead elsewhere than when it was surveyed."""
    if found.named:
        return found.left
    job_id = found.spec.plan.job_id
    folder = keys.folder_of(keys.item_key(job_id))
    others = [one for one in found.left if not one.subject.startswith(folder)]
    return *others, *stray_files(open_session(found.spec), job_id, revision)

"""What ``repair --json`` says."""

from flows.reports.scene import error_json, mosaic_json
from scenemosaic.repair.report import RepairReport


def repair_json(report: RepairReport) -> dict[str, object]:
    """The contract of ``repair --json``; with ``error`` and ``exit_code`` where it went wrong."""
    mosaic = report.mosaic
    value: dict[str, object] = {
        "job_id": report.job_id,
        "state": report.state,
        "windows": [one.to_json() for one in report.windows],
        **{name: report.count(name.replace("_", "-")) for name in _COUNTED},
        "mosaic": None if mosaic is None else mosaic_json(mosaic),
        "revision": None if mosaic is None else mosaic.revision,
        "former_mosaic": report.former_mosaic,
        "item": None if mosaic is None else mosaic.item,
        "preview": None if mosaic is None else mosaic.preview,
        "plan_restored": report.plan_restored,
        "wrong": [one.to_json() for one in report.wrong],
        "left": [one.to_json() for one in report.left],
        "seconds": round(report.seconds, 3),
    }
    return value if report.error is None else value | error_json(report.error)


_COUNTED = ("written", "superseded", "target_gone", "unchanged", "failed", "blocked")

"""A flow that runs inside a command: what Prefect then has to keep to itself."""

import logging


class _NotRoutine(logging.Filter):
    """Runs and their ends are in Prefect's records; here the command says them its own way."""

    def filter(self, record: logging.LogRecord) -> bool:
        routine = record.name.startswith(("prefect.flow_runs", "prefect.task_runs"))
        return not routine and record.levelno >= logging.WARNING


def quiet_prefect() -> None:
    """Let only warnings through that the command does not say itself; once Prefect is imported."""
    for handler in logging.getLogger().handlers:
        handler.addFilter(_NotRoutine())

"""The audit log, and who fills it."""

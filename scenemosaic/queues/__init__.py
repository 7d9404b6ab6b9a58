"""Queues that deliver at least once: a message stays until it is acknowledged."""

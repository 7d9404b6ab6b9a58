"""What surrounds the flows: work pools, schedules, policies, tables. See README.md here."""

"""What a run shows in Prefect: artifacts, events and progress."""

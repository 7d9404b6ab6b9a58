"""What a run came to, as values, and the final state that says so."""

"""How long an answer is waited for."""

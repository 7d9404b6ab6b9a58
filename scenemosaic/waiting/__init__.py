"""How long an answer is waited for, and what is asked again."""

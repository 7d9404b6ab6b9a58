"""Options that commands share, by what they are about. Nothing heavy is imported here."""

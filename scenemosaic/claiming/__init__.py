"""Claims: who assembles, so that others need not do the work only to lose."""

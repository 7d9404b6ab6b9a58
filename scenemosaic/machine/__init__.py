"""How a process uses its machine: memory, threads, the collector, and what runs side by side."""

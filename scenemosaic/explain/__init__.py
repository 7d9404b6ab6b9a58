"""What a job will ask for before it begins: memory, requests, bytes and money. Pure."""

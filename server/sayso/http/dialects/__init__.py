"""The protocols of clients, one edge each over the same engine."""

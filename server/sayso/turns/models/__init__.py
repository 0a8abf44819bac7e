"""Models in a turn: one request that is recorded, and the loop of requests and calls."""

"""The gate: decides what a request, or an answer, may do to a thread. Pure."""

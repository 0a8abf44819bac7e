"""What a request may do to a thread. Pure."""

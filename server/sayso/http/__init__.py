"""The HTTP edges: bytes in, bytes out. What a request may do is decided below, by the engine."""

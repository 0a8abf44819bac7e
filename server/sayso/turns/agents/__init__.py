"""Inner agents of a turn."""

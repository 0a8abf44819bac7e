"""Models behind `turn.chat`."""

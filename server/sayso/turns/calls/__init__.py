"""Tool calls and steps: proposed, decided, run once, answered."""

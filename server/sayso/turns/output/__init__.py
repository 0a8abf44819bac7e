"""Messages, reasoning, activities, custom events, usage: all that a turn sends beside calls."""

"""The demo: one deterministic agent with real, local effects, to see exactly-once with own eyes."""

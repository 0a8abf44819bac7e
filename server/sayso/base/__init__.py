"""The base of every layer: records, errors, clock, options, JSON. Pure but for the clock."""

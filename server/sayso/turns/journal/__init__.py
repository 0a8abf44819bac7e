"""The records of a turn: entries, marks, state, copies. Pure."""

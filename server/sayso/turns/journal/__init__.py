"""What a turn has recorded: entries, marks, state, copies. Pure."""

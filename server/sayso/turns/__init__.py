"""One execution of a turn: branches, effects, questions, tool calls, and the `Turn` on top."""

"""The command `sayso`: administration, and a chat on a terminal."""

"""The stream of a run, for any number of readers."""

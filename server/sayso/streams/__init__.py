"""What a run sends, for any number of readers."""

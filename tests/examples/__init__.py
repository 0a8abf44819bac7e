"""The examples, run as they stand."""

"""What the stores on SQL share: operations, rows and lists over a `Session`."""

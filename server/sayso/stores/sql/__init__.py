"""Operations, rows and lists that the stores on SQL share, over a `Transaction`."""

"""Threads in the memory of one process."""

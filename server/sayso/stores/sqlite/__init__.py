"""Threads in an SQLite file."""

"""Threads in PostgreSQL."""

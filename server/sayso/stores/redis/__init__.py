"""Threads in Redis or Valkey."""

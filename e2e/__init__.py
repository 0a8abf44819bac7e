"""Suites over the installed product and a real browser."""

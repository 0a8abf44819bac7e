"""Turns: record and replay, proved through the whole path from request to stream."""

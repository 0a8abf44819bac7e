"""Agents of Strands on this server."""

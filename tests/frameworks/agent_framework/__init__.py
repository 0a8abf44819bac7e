"""Agents of Microsoft's Agent Framework on this server."""

"""Agents of Pydantic AI on this server."""

"""Graphs of LangGraph on this server."""

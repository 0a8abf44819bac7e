"""Agents that are streams of AG-UI events."""

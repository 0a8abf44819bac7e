"""Agents that are streams of AG-UI events: a function of this process, or an endpoint elsewhere."""

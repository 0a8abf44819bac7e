"""Graphs of LangGraph as agents: `from sayso.langgraph import mount`."""

from sayso.frameworks.langgraph.mount import mount as mount

"""Graphs of LangGraph as agents: one log, in the turn's journal, of what LangGraph would store."""

from sayso.frameworks.needs import require

require("langgraph", extra="langgraph", least="1.0.8", below="2")

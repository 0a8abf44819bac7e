"""Agents of Microsoft's Agent Framework: `from sayso.agent_framework import mount`."""

from sayso.frameworks.agent_framework.mounting import mount as mount

"""Agents of the OpenAI Agents SDK, as they are: `from sayso.openai_agents import mount`."""

from sayso.frameworks.openai_agents.mounting import mount as mount

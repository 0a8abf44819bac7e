"""Agents of the OpenAI Agents SDK: its runner is entered again, models and tools are the turn's."""

from sayso.frameworks.needs import require

require("openai-agents", extra="openai-agents", least="0.24", below="0.25")

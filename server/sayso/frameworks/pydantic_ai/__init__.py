"""Agents of Pydantic AI over `pydantic_ai.durable_exec`, its public surface for durable engines."""

from sayso.frameworks.needs import require

require("pydantic-ai-slim", extra="pydantic-ai", least="2.36", below="3")

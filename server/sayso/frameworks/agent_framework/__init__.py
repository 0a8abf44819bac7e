"""Agents of Microsoft's Agent Framework over its middleware, which is public."""

from sayso.frameworks.needs import require

require("agent-framework-core", extra="agent-framework", least="1.23", below="2")

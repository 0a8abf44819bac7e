"""Tools of MCP servers: each call is a part of the turn, each round with the server a step."""

from sayso.frameworks.needs import require

require("mcp", extra="mcp", least="2.0", below="3")

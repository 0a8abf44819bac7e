"""Real servers that are killed while a tool of an MCP server works."""

from tests.frameworks.killing import Killed


class TestKilled(Killed):
    """The tests of every adapter."""

    app = "tests.frameworks.mcp.mortal:app"
    loads = ("sayso.mcp", "tests.frameworks.mcp.served")

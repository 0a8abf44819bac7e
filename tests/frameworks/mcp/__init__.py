"""Tools of MCP servers, in an environment of their own."""

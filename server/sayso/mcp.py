"""Tools of MCP servers: `Sayso(on_start=[mcp.include("https://shop.example/mcp")])`."""

from sayso.frameworks.mcp.including import include as include

"""The judge for other programs: its protocol, over lines, HTTP and MCP."""

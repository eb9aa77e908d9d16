"""Porter's MCP client: connections over stdio and streamable HTTP."""

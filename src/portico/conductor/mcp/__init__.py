"""Owns MCP over ACP: tools that a proxy offers to the agent, and the way to them for an agent that cannot ask."""

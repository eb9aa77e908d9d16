"""Owns MCP over ACP: offers in-process MCP servers to agents, and bridges them to agents that speak only
stdio or HTTP.
"""

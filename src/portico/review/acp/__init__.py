"""Review for ACP editors: proxies and tools in the chain that bring proposals to any agent and any editor."""

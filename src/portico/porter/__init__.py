"""The built-in agent: ACP sessions, slash commands, and a model loop with tools."""

"""Settings, their owners and precedence, and secrets."""

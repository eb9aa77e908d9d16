"""Owns AgentService: the sessions of this host over Connect, gRPC-Web and gRPC."""

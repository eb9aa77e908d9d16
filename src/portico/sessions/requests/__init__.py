"""Owns what an agent asks of the client: permissions, questions, files and terminals."""

"""Owns what the chain can teach an agent: package sources, code intelligence, skills and collaboration."""

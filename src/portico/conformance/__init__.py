"""Owns the conformance kit: cases that drive an agent, a proxy or a client over ACP, and reports of their results."""

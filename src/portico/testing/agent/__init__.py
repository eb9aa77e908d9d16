"""Owns the scripted ACP agent, the program `python -m portico.testing.agent`; docs/testing.md is its manual.

It is a peer, not a part: it shares no code with `portico.rpc` and `portico.acp`, so that a mistake there
cannot hide in both ends, and it can break the rules that they keep. It needs the standard library alone and
starts about as fast as Python does, so its modules leave `typing` and `pathlib` to the type checker.
"""

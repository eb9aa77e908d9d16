"""Owns the programs that measurements start: agents that stand alone, and contenders that print what they found."""

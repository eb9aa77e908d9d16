"""Owns tours: explanations that an agent gives at places in the code, step by step."""

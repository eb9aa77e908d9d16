"""Owns what a person types in the terminal: prompts, answers, fields."""

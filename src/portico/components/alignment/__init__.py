"""Owns "align first": the agent says back what it understood, and changes nothing before the person agrees."""

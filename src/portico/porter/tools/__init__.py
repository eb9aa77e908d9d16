"""Owns the tools that Porter offers to a model: one file each, with words for the model and a policy of their own."""

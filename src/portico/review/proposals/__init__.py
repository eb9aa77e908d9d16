"""Proposals: changes that an agent suggests and the person applies, discards or undoes."""

"""Owns what can be read off source text about a name: where it is defined, how, and where it is used."""

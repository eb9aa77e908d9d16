"""Owns the way back: states of a working tree that are taken, compared and restored, in git or out of it."""

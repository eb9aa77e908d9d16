"""Checkpoints: states of a workspace that are taken, compared and restored, with or without a repository of
the person.
"""

"""Owns proposals, checkpoints and review status as terminal text."""

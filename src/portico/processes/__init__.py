"""Owns programs and process groups: finding, starting and ending them."""

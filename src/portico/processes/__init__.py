"""Owns programs, process groups, tasks and time: starting, waiting for and ending them."""

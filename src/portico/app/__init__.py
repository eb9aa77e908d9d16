"""Owns composition: the only package that knows the concrete classes behind the ports."""

"""Owns unpacking: archives of packages are read as untrusted input, within limits."""

"""Owns the cases for agents, one module for each part of the protocol, in the order they are tried."""

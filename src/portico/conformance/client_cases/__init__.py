"""Owns the cases for clients, one module for each part of the protocol, in the order they are tried."""

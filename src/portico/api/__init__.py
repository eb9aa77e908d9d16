"""Owns the generated code of the contract, and the conversion of its field values."""

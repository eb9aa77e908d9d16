"""Owns the durable event log: how it is kept on disk, read back, migrated and verified."""

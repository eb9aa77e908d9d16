"""Owns the event log in a PostgreSQL database, shared by several machines.

Only features of PostgreSQL that compatible distributed databases have too are used: no advisory locks, no `NOTIFY`.
"""

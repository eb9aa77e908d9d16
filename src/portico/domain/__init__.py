"""Owns the values that every other package speaks in: ids, events, turn states, errors. No I/O, no asyncio."""

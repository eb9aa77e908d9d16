"""Owns the values everything else speaks in: ids, events, turn states and errors. No I/O, no asyncio."""

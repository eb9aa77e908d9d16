"""Owns what Porter does on the web: fetching one page, within bounds, from addresses that are meant for everybody."""

"""Owns what agents propose and persons decide: kept, marked, chosen from, applied, given up, taken back."""
